import { type Document, parseDocument, visit } from "yaml";
import { SKILL_FRONTMATTER_CHARS_MAX } from "../core/limits.ts";
import { readHeader } from "../core/skill/header.ts";
import type { SkillReading } from "../core/skill/snapshot.ts";

/**
 * Parses the text of a SKILL.md: optional YAML between two `---` lines, of which the first is line
 * 1, then the instructions. A fault in the file is an answer that names it.
 */
export function parseSkillFile(text: string): SkillReading {
  if (text.includes("\0")) return malformed("it has a NUL character");
  const parts = partsOf(text);
  if (parts === null) return malformed("its frontmatter has no closing --- line");
  const { frontmatter, body } = parts;
  if (frontmatter.length > SKILL_FRONTMATTER_CHARS_MAX) {
    const limit = SKILL_FRONTMATTER_CHARS_MAX;
    return malformed(`its frontmatter is longer than ${limit} characters`);
  }
  const parsed = parsedYaml(frontmatter);
  if (parsed.fault !== null) return malformed(parsed.fault);
  const { header, fault } = readHeader(parsed.value);
  return header === null ? malformed(fault) : { kind: "read", header, body };
}

const FENCE = /^---[ \t]*$/;

/** Null if the frontmatter is opened and never closed. */
function partsOf(text: string): { readonly frontmatter: string; readonly body: string } | null {
  const lines = text.split("\n");
  if (!FENCE.test(lines[0] ?? "")) return { frontmatter: "", body: withoutEdges(text) };
  const end = lines.findIndex((line, at) => at > 0 && FENCE.test(line));
  if (end === -1) return null;
  const frontmatter = lines.slice(1, end).join("\n");
  return { frontmatter, body: withoutEdges(lines.slice(end + 1).join("\n")) };
}

/** Drops the empty lines before and after the body. */
function withoutEdges(body: string): string {
  return body.replace(/^(?:[ \t]*\n)+/, "").trimEnd();
}

type Parsed = { readonly value: unknown; readonly fault: null } | { readonly fault: string };

/**
 * Reads plain data only: no tags, no duplicate keys, and no aliases, which frontmatter does not
 * need and with which a small file expands to a huge value.
 */
function parsedYaml(frontmatter: string): Parsed {
  try {
    // An empty line replaces the fence, so that a fault has its line number in the file.
    const document = parseDocument(`\n${frontmatter}`, {
      schema: "core",
      version: "1.2",
      strict: true,
      stringKeys: true,
      uniqueKeys: true,
      merge: false,
      resolveKnownTags: false,
      logLevel: "error",
    });
    const [trouble] = [...document.errors, ...document.warnings];
    if (trouble !== undefined) return { fault: notYaml(trouble.message) };
    if (hasAlias(document)) return { fault: notYaml("it has an alias") };
    const value: unknown = document.toJS({ maxAliasCount: 0 });
    return { value, fault: null };
  } catch (thrown) {
    return { fault: notYaml(thrown instanceof Error ? thrown.message : String(thrown)) };
  }
}

function hasAlias(document: Document): boolean {
  let isFound = false;
  visit(document, {
    Alias: () => {
      isFound = true;
      return visit.BREAK;
    },
  });
  return isFound;
}

/** Keeps the first line of the parser's message, and drops the excerpt below it. */
function notYaml(message: string): string {
  const [first = ""] = message.split("\n");
  if (first.startsWith("Maximum call stack")) return "its frontmatter is nested too deeply";
  return `its frontmatter is not plain YAML: ${first.replace(/[:.]$/, "")}`;
}

function malformed(reason: string): SkillReading {
  return { kind: "fault", code: "malformed_frontmatter", reason };
}

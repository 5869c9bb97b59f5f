import { type Document, parseDocument, visit } from "yaml";
import { SKILL_FRONTMATTER_CHARS_MAX } from "../core/limits.ts";
import { readHeader } from "../core/skill/header.ts";
import type { SkillReading } from "../core/skill/snapshot.ts";

/**
 * Takes the text of a SKILL.md apart: optional YAML between two `---` lines, of which the first is
 * line 1, then the instructions (B6). Whatever is wrong is an answer, and names what it is.
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

/** Without the empty lines before and after it, which say nothing. */
function withoutEdges(body: string): string {
  return body.replace(/^(?:[ \t]*\n)+/, "").trimEnd();
}

type Parsed = { readonly value: unknown; readonly fault: null } | { readonly fault: string };

/**
 * Plain data only: no tags of anybody's, no key twice, and no aliases, which a frontmatter has no
 * use for and of which bombs are made.
 */
function parsedYaml(frontmatter: string): Parsed {
  try {
    // The line of the fence is put back, so that a fault has the number of its line in the file.
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

/** The parser's own words; the excerpt below its first line is left out. */
function notYaml(message: string): string {
  const [first = ""] = message.split("\n");
  if (first.startsWith("Maximum call stack")) return "its frontmatter is nested too deeply";
  return `its frontmatter is not plain YAML: ${first.replace(/[:.]$/, "")}`;
}

function malformed(reason: string): SkillReading {
  return { kind: "fault", code: "malformed_frontmatter", reason };
}

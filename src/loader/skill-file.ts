import { SKILL_FRONTMATTER_CHARS_MAX } from "../core/limits.ts";
import { readHeader } from "../core/skill/header.ts";
import type { SkillReading } from "../core/skill/snapshot.ts";
import { parsePlainYaml, type YamlFault } from "../wire/plain-yaml.ts";

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
 * Plain data only, as in each file of YAML that people write for Fermata: a small file must not
 * become a huge value. An empty line replaces the fence, so that a fault has its line number in
 * the file.
 */
function parsedYaml(frontmatter: string): Parsed {
  const { document, fault } = parsePlainYaml(`\n${frontmatter}`);
  return fault === undefined ? { value: document.value, fault: null } : { fault: notYaml(fault) };
}

function notYaml({ reason, position: { line, column } }: YamlFault): string {
  if (reason === "it is nested too deeply") return "its frontmatter is nested too deeply";
  return `its frontmatter is not plain YAML: ${reason} at line ${line}, column ${column}`;
}

function malformed(reason: string): SkillReading {
  return { kind: "fault", code: "malformed_frontmatter", reason };
}

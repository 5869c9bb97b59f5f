import { DAMAGED, list, object, oneOf, orNull, text } from "../session/slot-codec.ts";
import {
  type Eligibility,
  INVOCATION_MODES,
  SKILL_DIAGNOSTIC_CODES,
  SKILL_SOURCES,
  type SkillDiagnostic,
  type SkillEntry,
  type SkillSnapshot,
} from "./skill.ts";

/** The fields stand in the order of these tables, so that equal snapshots have equal texts. */
const ELIGIBILITY = object<Eligibility>({ os: list(text), env: list(text), binaries: list(text) });

const ENTRY = object<SkillEntry>({
  skill_name: text,
  source: oneOf(...SKILL_SOURCES),
  path: text,
  summary: text,
  invocation_mode: oneOf(...INVOCATION_MODES),
  command: orNull(text),
  command_tool: orNull(text),
  requires_tools: list(text),
  eligibility: ELIGIBILITY,
  body: text,
});

const DIAGNOSTIC = object<SkillDiagnostic>({
  skill_name: text,
  code: oneOf(...SKILL_DIAGNOSTIC_CODES),
  message: text,
  source: oneOf(...SKILL_SOURCES),
  path: text,
});

const FORM = oneOf("skills/1");
const SNAPSHOT = object<SkillSnapshot & { readonly form: "skills/1" }>({
  form: FORM,
  entries: list(ENTRY),
  diagnostics: list(DIAGNOSTIC),
});

/** The text whose hash names a snapshot. It has no absolute path and no time in it. */
export function canonicalJson({ entries, diagnostics }: SkillSnapshot): string {
  return JSON.stringify(SNAPSHOT.write({ form: "skills/1", entries, diagnostics }));
}

/** Reads such a text back; null if it is anything else. */
export function readSnapshot(text: string): SkillSnapshot | null {
  try {
    const json: unknown = JSON.parse(text);
    const read = SNAPSHOT.read(json);
    return read === DAMAGED ? null : { entries: read.entries, diagnostics: read.diagnostics };
  } catch {
    return null;
  }
}

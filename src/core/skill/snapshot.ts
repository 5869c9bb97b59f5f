import { DIFFERENCE_LINES_MAX, SKILLS_BYTES_MAX } from "../limits.ts";
import { PERSONA_FILES, type Persona, type PersonaFile } from "../persona.ts";
import { DAMAGED, list, object, oneOf, orNull, text } from "../session/slot-codec.ts";
import { byCodePoint, utf8Bytes } from "../text.ts";
import type { SkillHeader } from "./header.ts";
import { objectionsTo, type SkillEnvironment } from "./precedence.ts";
import {
  type Eligibility,
  INVOCATION_MODES,
  ofSkill,
  SKILL_DIAGNOSTIC_CODES,
  SKILL_SOURCES,
  type SkillDiagnostic,
  type SkillDiagnosticCode,
  type SkillEntry,
  type SkillSnapshot,
  type SkillSubject,
  shown,
  skillName,
  skillPath,
  sortedDiagnostics,
} from "./skill.ts";

/** What reading a skill's file came to. */
export type SkillReading =
  | { readonly kind: "read"; readonly header: SkillHeader; readonly body: string }
  | { readonly kind: "fault"; readonly code: ReadingFault; readonly reason: string };

type ReadingFault = Extract<
  SkillDiagnosticCode,
  "malformed_frontmatter" | "unreadable" | "too_large"
>;

/** A winner of `precedenceOf`, with its file read; the losers' files are not read. */
export interface SkillCandidate extends SkillSubject {
  readonly reading: SkillReading;
}

/**
 * The skills of a session, from the winners and the diagnostics so far. A winner that cannot
 * be used is absent: what it takes precedence over does not take its place.
 */
export function snapshotOf(
  winners: readonly SkillCandidate[],
  said: readonly SkillDiagnostic[],
  surroundings: SkillEnvironment,
): SkillSnapshot {
  const diagnostics = [...said];
  const judged = winners.flatMap((candidate) => {
    const { entry, objections } = judge(candidate, surroundings);
    diagnostics.push(...objections);
    return entry === null ? [] : [entry];
  });
  const entries = judged.toSorted((one, other) => byCodePoint(one.skill_name, other.skill_name));
  const fitting = withinBytes(withOwnAliases(entries, diagnostics), diagnostics);
  return { entries: fitting, diagnostics: sortedDiagnostics(diagnostics) };
}

interface JudgedSkill {
  readonly entry: SkillEntry | null;
  readonly objections: readonly SkillDiagnostic[];
}

function judge(candidate: SkillCandidate, surroundings: SkillEnvironment): JudgedSkill {
  const { name, source, reading } = candidate;
  if (reading.kind === "fault") {
    const objection = ofSkill(
      candidate,
      reading.code,
      `SKILL.md cannot be used: ${reading.reason}`,
    );
    return { entry: null, objections: [objection] };
  }
  const { header, body } = reading;
  const objections = objectionsTo(candidate, header, surroundings);
  const notes = notesOn(candidate, header);
  if (objections.length > 0) return { entry: null, objections: [...objections, ...notes] };
  const { summary, invocationMode, command, requiresTools, eligibility } = header;
  const entry: SkillEntry = {
    skill_name: skillName(name),
    source,
    path: skillPath(name),
    summary,
    invocation_mode: invocationMode,
    command,
    command_tool: invocationMode === "tool_dispatch" ? header.commandTool : null,
    requires_tools: requiresTools,
    eligibility,
    body,
  };
  return { entry, objections: notes };
}

/** What is odd about a file and does not exclude it. */
function notesOn(subject: SkillSubject, header: SkillHeader): readonly SkillDiagnostic[] {
  const notes: SkillDiagnostic[] = [];
  const { unknownKeys, declaredName } = header;
  if (unknownKeys.length > 0) {
    const why = `these keys of its frontmatter mean nothing here: ${unknownKeys.join(", ")}`;
    notes.push(ofSkill(subject, "unknown_frontmatter_key", why));
  }
  if (declaredName !== null && skillName(declaredName) !== skillName(subject.name)) {
    const why = `it calls itself "${shown(declaredName)}", but its directory's name counts`;
    notes.push(ofSkill(subject, "name_conflict", why));
  }
  return notes;
}

/**
 * An alias that several ask for belongs to none of them. The message has it as people
 * type it, by which `/alias` is later distinguished from an unknown command.
 */
function withOwnAliases(
  entries: readonly SkillEntry[],
  diagnostics: SkillDiagnostic[],
): readonly SkillEntry[] {
  const claims = Map.groupBy(entries, (entry) => entry.command);
  return entries.map((entry) => {
    const { command, skill_name: name, source } = entry;
    const claimants = command === null ? [] : (claims.get(command) ?? []);
    if (claimants.length < 2) return entry;
    const names = claimants.map((claimant) => claimant.skill_name).join(", ");
    const why = `none of these has the alias /${command}, because each asks for it: ${names}`;
    diagnostics.push(ofSkill({ name, source }, "alias_ambiguous", why));
    return { ...entry, command: null };
  });
}

/** As many as fit together, in the order of names; a smaller one may still fit after a large. */
function withinBytes(
  entries: readonly SkillEntry[],
  diagnostics: SkillDiagnostic[],
): readonly SkillEntry[] {
  let bytes = 0;
  return entries.filter((entry) => {
    const more = utf8Bytes(JSON.stringify(entry));
    if (bytes + more <= SKILLS_BYTES_MAX) {
      bytes += more;
      return true;
    }
    const { skill_name: name, source } = entry;
    const why = `it does not fit: all skills together have at most ${SKILLS_BYTES_MAX} bytes`;
    diagnostics.push(ofSkill({ name, source }, "too_large", why));
    return false;
  });
}

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

/** What each field is called where people read that it changed. */
const FIELD_WORDS: Readonly<Record<Exclude<keyof SkillEntry, "skill_name">, string>> = {
  source: "source",
  path: "path",
  summary: "summary",
  invocation_mode: "mode",
  command: "alias",
  command_tool: "tool",
  requires_tools: "required tools",
  eligibility: "eligibility",
  body: "body",
};

/**
 * What a reload of skills changed, for people: `+` is new, `-` is gone, `~` is not as it was, `!`
 * has a new diagnostic, and `=` has lost one.
 */
export function skillDifference(before: SkillSnapshot, after: SkillSnapshot): string {
  const [old, now] = [byName(before.entries), byName(after.entries)];
  const [oldFaults, nowFaults] = [faultsOf(before), faultsOf(after)];
  const names = new Set([...old.keys(), ...now.keys(), ...oldFaults.keys(), ...nowFaults.keys()]);
  const lines = [...names]
    .toSorted(byCodePoint)
    .flatMap((name) => [
      ...entryLines(name, old.get(name), now.get(name)),
      ...without(nowFaults.get(name), oldFaults.get(name)).map((code) => `! ${name}: ${code}`),
      ...without(oldFaults.get(name), nowFaults.get(name)).map(
        (code) => `= ${name}: no longer ${code}`,
      ),
    ]);
  return joined(lines);
}

/** The same for the files of a persona, by their names and lengths. */
export function personaDifference(before: Persona, after: Persona): string {
  const lines = PERSONA_FILES.flatMap((name) => {
    const old = before.files.find((file) => file.name === name);
    const now = after.files.find((file) => file.name === name);
    const fault = (persona: Persona) => persona.diagnostics.find((each) => each.name === name);
    const [oldCode, nowCode] = [fault(before)?.code, fault(after)?.code];
    return [
      ...fileLines(name, old, now),
      ...(nowCode !== undefined && nowCode !== oldCode ? [`! ${name}: ${nowCode}`] : []),
      ...(oldCode !== undefined && nowCode === undefined
        ? [`= ${name}: no longer ${oldCode}`]
        : []),
    ];
  });
  return joined(lines);
}

function byName(entries: readonly SkillEntry[]): ReadonlyMap<string, SkillEntry> {
  return new Map(entries.map((entry) => [entry.skill_name, entry]));
}

type Faults = ReadonlyMap<string, ReadonlySet<string>>;

/** A diagnostic about a whole root has no name, so it goes by that of the root. */
function faultsOf({ diagnostics }: SkillSnapshot): Faults {
  const nameOf = (each: SkillDiagnostic) => each.skill_name || `(${each.source} root)`;
  const grouped = Map.groupBy(diagnostics, nameOf);
  return new Map([...grouped].map(([name, all]) => [name, new Set(all.map(({ code }) => code))]));
}

function without(codes: ReadonlySet<string> = new Set(), known: ReadonlySet<string> = new Set()) {
  return [...codes].filter((code) => !known.has(code)).toSorted(byCodePoint);
}

function entryLines(
  name: string,
  old: SkillEntry | undefined,
  now: SkillEntry | undefined,
): readonly string[] {
  if (now === undefined) return old === undefined ? [] : [`- ${name} (${old.source})`];
  if (old === undefined) return [`+ ${name} (${now.source})`];
  const fields = entriesOf(FIELD_WORDS).flatMap(([field, word]) => {
    return JSON.stringify(old[field]) === JSON.stringify(now[field]) ? [] : [word];
  });
  return fields.length === 0 ? [] : [`~ ${name}: ${fields.join(", ")}`];
}

function fileLines(
  name: string,
  old: PersonaFile | undefined,
  now: PersonaFile | undefined,
): readonly string[] {
  const length = (file: PersonaFile) => `${file.source}, ${file.text.length} characters`;
  if (now === undefined) return old === undefined ? [] : [`- ${name} (${length(old)})`];
  if (old === undefined) return [`+ ${name} (${length(now)})`];
  const isSame = old.text === now.text && old.source === now.source && old.path === now.path;
  return isSame ? [] : [`~ ${name} (${length(old)} -> ${length(now)})`];
}

function entriesOf<Key extends string>(table: Readonly<Record<Key, string>>) {
  const isKey = (key: string): key is Key => Object.hasOwn(table, key);
  return Object.keys(table)
    .filter(isKey)
    .map((key) => [key, table[key]] as const);
}

function joined(lines: readonly string[]): string {
  if (lines.length === 0) return "nothing changed";
  const left = lines.length - DIFFERENCE_LINES_MAX;
  if (left <= 0) return lines.join("\n");
  return [...lines.slice(0, DIFFERENCE_LINES_MAX), `… and ${left} more`].join("\n");
}

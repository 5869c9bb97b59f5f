import { DIFFERENCE_LINES_MAX } from "../limits.ts";
import { PERSONA_FILES, type Persona, type PersonaFile } from "../persona.ts";
import { byCodePoint } from "./code-point.ts";
import type { SkillDiagnostic, SkillEntry, SkillSnapshot } from "./skill.ts";

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
  return told(lines);
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
  return told(lines);
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

function told(lines: readonly string[]): string {
  if (lines.length === 0) return "nothing changed";
  const left = lines.length - DIFFERENCE_LINES_MAX;
  if (left <= 0) return lines.join("\n");
  return [...lines.slice(0, DIFFERENCE_LINES_MAX), `… and ${left} more`].join("\n");
}

import { join } from "node:path";
import {
  SKILL_FILE_BYTES_MAX,
  SKILL_READS_AT_ONCE_MAX,
  SKILLS_READ_BYTES_MAX,
} from "../core/limits.ts";
import type { SkillCandidate, SkillReading } from "../core/skill/snapshot.ts";
import type { PlacedSkill } from "./skill-roots.ts";
import { readTextInside } from "./text-file.ts";

/**
 * Reads the files of those that won, in the order of their names, some at a time. There is an end
 * to what is held of them all; which of them are taken is decided later, by other measures.
 */
export async function readSkills(
  winners: readonly PlacedSkill[],
): Promise<readonly SkillCandidate[]> {
  const candidates: SkillCandidate[] = [];
  let left = SKILLS_READ_BYTES_MAX;
  for (let at = 0; at < winners.length; at += SKILL_READS_AT_ONCE_MAX) {
    const batch = winners.slice(at, at + SKILL_READS_AT_ONCE_MAX);
    // What would not fit even if it came first is not read at all.
    const bytesMax = Math.min(SKILL_FILE_BYTES_MAX, left);
    for (const read of await Promise.all(batch.map((skill) => readSkill(skill, bytesMax)))) {
      const isFitting = read.bytes <= left;
      if (isFitting) left -= read.bytes;
      candidates.push(isFitting ? read.candidate : { ...read.candidate, reading: NOT_FITTING });
    }
  }
  return candidates;
}

const NOT_FITTING: SkillReading = {
  kind: "fault",
  code: "too_large",
  reason: `all files together have at most ${SKILLS_READ_BYTES_MAX} bytes`,
};

interface ReadSkill {
  readonly candidate: SkillCandidate;
  /** What of it is kept. */
  readonly bytes: number;
}

async function readSkill(skill: PlacedSkill, bytesMax: number): Promise<ReadSkill> {
  const { name, source, root } = skill;
  const file = await readTextInside(root, join(root, name, "SKILL.md"), bytesMax);
  if (file.kind === "text") {
    // The parser of YAML that it needs is large, and no server needs it to start.
    const { parseSkillFile } = await import("./skill-file.ts");
    const reading = parseSkillFile(file.text);
    const bytes = reading.kind === "read" ? Buffer.byteLength(file.text) : 0;
    return { candidate: { name, source, reading }, bytes };
  }
  if (file.kind === "fault" && file.code === "too_large" && bytesMax < SKILL_FILE_BYTES_MAX) {
    return { candidate: { name, source, reading: NOT_FITTING }, bytes: 0 };
  }
  const fault = file.kind === "fault" ? file : GONE;
  return { candidate: { name, source, reading: fault }, bytes: 0 };
}

const GONE: SkillReading = { kind: "fault", code: "unreadable", reason: "it is not there" };

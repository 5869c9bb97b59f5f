import { parseSessionId } from "../../core/id.ts";
import { addTokens } from "../../core/price.ts";
import type { SessionSight } from "../audit/sight.ts";
import type { StatementLine } from "../meter/entry.ts";
import type { UsageGroup, UsageReport } from "../meter/usage.ts";

/** Leaves out of a statement which session cost it, where the reader does not see that (P8). */
export async function discreetLines(
  lines: readonly StatementLine[],
  sight: SessionSight,
): Promise<readonly StatementLine[]> {
  const shown: StatementLine[] = [];
  for (const line of lines) {
    const isSeen = line.sessionId === null || (await sight.sees(line.sessionId));
    shown.push(isSeen ? line : { ...line, sessionId: null });
  }
  return shown;
}

/** Puts sessions that the reader does not see into the group without a name. */
export async function discreetUsage(
  report: UsageReport,
  sight: SessionSight,
): Promise<UsageReport> {
  if (report.by !== "session") return report;
  const named: UsageGroup[] = [];
  let others: UsageGroup | null = null;
  for (const group of report.groups) {
    const sessionId = parseSessionId(group.name ?? "");
    if (sessionId !== null && (await sight.sees(sessionId))) named.push(group);
    else others = others === null ? { ...group, name: null } : sumOf(others, group);
  }
  return { ...report, groups: others === null ? named : [...named, others] };
}

function sumOf(one: UsageGroup, other: UsageGroup): UsageGroup {
  return {
    name: null,
    turns: one.turns + other.turns,
    chargedMicro: one.chargedMicro + other.chargedMicro,
    unpricedTurns: one.unpricedTurns + other.unpricedTurns,
    unknownTurns: one.unknownTurns + other.unknownTurns,
    tokens: addTokens(one.tokens, other.tokens),
  };
}

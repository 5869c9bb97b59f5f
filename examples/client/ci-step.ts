// A step of a CI job: one prompt, its answer on the output, and an exit code.
//
//     node ci-step.ts "Why does the build fail?" [--allow-edits]
//
// 0: the turn is complete. 1: it failed. 2: no prompt. 7: it asked for what a job may not allow.
// 130: it was cancelled. The key makes a repeated step of the same job the same prompt.

import { Fermata, FermataError } from "fermata/client";

const [prompt, ...flags] = process.argv.slice(2);
if (prompt === undefined) {
  console.error('usage: node ci-step.ts "PROMPT" [--allow-edits]');
  process.exit(2);
}

const fermata = new Fermata({
  url: process.env.FERMATA_URL ?? "http://127.0.0.1:4170",
  token: process.env.FERMATA_TOKEN ?? null,
});
const job = process.env.CI_JOB_ID;
const autonomy = flags.includes("--allow-edits") ? "balanced" : "supervised";

try {
  const session = await fermata.sessions.create({
    autonomy,
    sourceType: "ci",
    ...(job !== undefined && { key: `session of ${job}` }),
  });
  const turn = await session.prompt(prompt, {
    signal: AbortSignal.timeout(20 * 60_000),
    ...(job !== undefined && { key: `prompt of ${job}` }),
  });
  let refused = 0;
  for await (const part of turn) {
    if (part.type === "tool") console.error(`${part.call.status}: ${part.call.title}`);
    if (part.type !== "ask" || part.ask.outcome !== null) continue;
    refused += 1;
    console.error(`refused: ${part.ask.title}`);
    await part.ask.deny();
  }
  const verdict = await turn.verdict;
  console.log(verdict.text);
  if (verdict.kind === "error") console.error(`${verdict.code}: ${verdict.message}`);
  const isCancelled = verdict.kind === "complete" && verdict.stopReason === "cancelled";
  process.exitCode = verdict.kind === "error" ? 1 : isCancelled ? 130 : refused > 0 ? 7 : 0;
} catch (error) {
  if (!(error instanceof FermataError)) throw error;
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
}

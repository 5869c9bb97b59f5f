// A bot: answers what is asked on its input, one question a line, from one session that stays.
//
//     node bot.ts < questions.txt
//
// FERMATA_URL and FERMATA_TOKEN say which server. Kill the server in the middle of an answer and
// start it again: the bot goes on.

import { createInterface } from "node:readline";
import { Fermata } from "fermata/client";

const fermata = new Fermata({
  url: process.env.FERMATA_URL ?? "http://127.0.0.1:4170",
  token: process.env.FERMATA_TOKEN ?? null,
});
const session = await fermata.sessions.create({ sourceType: "bot" });

for await (const question of createInterface({ input: process.stdin })) {
  const turn = await session.prompt(question);
  for await (const part of turn) {
    if (part.type === "text") process.stdout.write(part.text);
    // A bot has no person to ask: what needs one is refused, and the agent goes on without it.
    if (part.type === "ask" && part.ask.outcome === null) await part.ask.deny();
  }
  const verdict = await turn.verdict;
  console.log(verdict.kind === "error" ? ` [${verdict.code}: ${verdict.message}]` : "");
}
await session.close();

// A dashboard in one line: how many sessions work, wait for a person and rest, as it changes.
//
//     node dashboard.ts [--once]
//
// With --once it prints the line as things are and ends.

import { Fermata } from "fermata/client";

const fermata = new Fermata({
  url: process.env.FERMATA_URL ?? "http://127.0.0.1:4170",
  token: process.env.FERMATA_TOKEN ?? null,
});
const isOnce = process.argv.includes("--once");
const statuses = new Map<string, string>();
let isKnown = false;

function line(): string {
  const count = (...words: string[]) =>
    [...statuses.values()].filter((status) => words.includes(status)).length;
  const works = count("running", "activating", "deactivating");
  return `${works} at work, ${count("waiting")} need you, ${count("ready", "inactive")} rest`;
}

for await (const change of fermata.watch()) {
  if (change.kind === "session") statuses.set(change.session.sessionId, change.session.status);
  if (change.kind === "deleted") statuses.delete(change.sessionId);
  if (change.kind === "complete") isKnown = true;
  if (change.kind === "connection" && change.state === "reconnecting")
    console.log("reconnecting …");
  else if (isKnown) console.log(line());
  if (isKnown && isOnce) break;
}

// Logs every message of a server, with a secret, at the level of its argument; or, with a second
// argument, so many large ones at once, and one more when those have been read.

import { once } from "node:events";
import { LOG_MESSAGES } from "../../core/log.ts";
import { SecretGuard } from "../../store/index.ts";
import { openLog } from "./log.ts";

const [, , level, large] = process.argv;
const guard = new SecretGuard();
guard.know("sk-secret-key");
const { log } = openLog(level as Parameters<typeof openLog>[0], guard);
if (large === undefined) {
  const about = { reason: "it has sk-secret-key in it" };
  for (const what of Object.keys(LOG_MESSAGES) as (keyof typeof LOG_MESSAGES)[]) log(what, about);
} else {
  const about = { reason: "x".repeat(1_000) };
  for (let n = 0; n < Number(large); n += 1) log("request failed", about);
  process.stdout.write("logged\n");
  await once(process.stderr, "drain");
  log("request failed", about);
}

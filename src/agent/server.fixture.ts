// A server that hosts one deaf agent, says so, and waits to be killed.

import { parseTenantId } from "../core/id.ts";
import { DONE } from "../core/result.ts";
import { openAgents } from "./open.ts";
import { KNOWN_PROFILES } from "./profile/known.ts";
import { profileOf } from "./profile/profile.ts";

const [folder = ""] = process.argv.slice(2);
const echo = KNOWN_PROFILES.find(({ name }) => name === "echo");
const tenantId = parseTenantId("acme");
if (echo === undefined || tenantId === null) throw new Error("there is no echo");

const args = [...echo.args, "--ignore-eof", "--ignore-term"];
const { agents } = await openAgents({
  folder,
  profiles: new Map([["deaf", profileOf({ ...echo, name: "deaf", args })]]),
  env: process.env,
  memoryBytesMax: null,
  watch: { fault: () => {}, secret: () => DONE, secretGone: () => {} },
});
await agents.preheat(tenantId, "deaf", folder);
process.stdout.write("ready\n");
setInterval(() => {}, 1_000);

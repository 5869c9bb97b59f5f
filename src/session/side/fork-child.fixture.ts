// A server that branches a session and is killed at some moment.

import { parseSessionId, parseTenantId } from "../../core/id.ts";
import { tell, worldIn } from "../child-world.fixture.ts";
import { SessionRegistry } from "../registry.ts";
import { given } from "../world.fixture.ts";
import { forkSession } from "./fork.ts";

const [folder = "", id = ""] = process.argv.slice(2);
const world = await worldIn(folder);
const registry = new SessionRegistry(world, {
  join: () => [{}],
  isWatched: () => true,
  unmade: () => {},
});
const key = { tenantId: given(parseTenantId("acme")), sessionId: given(parseSessionId(id)) };
const found = await registry.get(key);
if (!found.ok) throw new Error(found.refusal.code);
const actor = { kind: "client", clientId: null, userId: null, loopback: true } as const;
const order = { actor, turnId: null, name: null, agent: null };
const made = await forkSession(world, found.value, order);
if (!made.ok || made.value === null) throw new Error(JSON.stringify(made));
tell({ branch: made.value.key.sessionId });
process.kill(process.pid, "SIGKILL");

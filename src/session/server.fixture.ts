// A server that hosts one session and is killed at some moment. What it tells, and what it
// acknowledges, it writes down at once, as a client would have seen it.

import { parseTenantId } from "../core/id.ts";
import { selected } from "../core/policy/ask.ts";
import type { Written } from "./actor/written.ts";
import { tell, worldIn } from "./child-world.fixture.ts";
import type { LiveSession } from "./live.ts";
import { SessionRegistry } from "./registry.ts";
import { CREATION, given, RANDOM_IDS } from "./world.fixture.ts";

const [folder = "", ...scripts] = process.argv.slice(2);
const actor = { kind: "client", clientId: null, userId: null, loopback: true } as const;
const registry = new SessionRegistry(await worldIn(folder), {
  join: (live) => [{ durable: (written) => agree(live, written) }],
  isWatched: () => true,
  unmade: () => {},
});

/** Each ask is agreed to as soon as it was told of. */
function agree(live: LiveSession, written: readonly Written[]) {
  for (const { id, text } of written) tell({ id, text });
  for (const { event } of written) {
    if (event.type !== "permission_request") continue;
    const { requestId, options } = event.data;
    const outcome = selected(options[0]?.optionId ?? "");
    void live.submit({ type: "vote", atMs: Date.now(), actor, requestId, outcome });
  }
}

const key = { tenantId: given(parseTenantId("acme")), sessionId: RANDOM_IDS.session() };
const creation = { ...CREATION, workspaceCwd: folder };
const made = await registry.create({ key, actor, creation });
if (!made.ok) throw new Error(made.refusal.code);
const { live } = made.value;
tell({ sessionId: key.sessionId });
for (const script of scripts) {
  const promptId = RANDOM_IDS.prompt();
  const { refusal } = await live.submit({
    type: "prompt",
    atMs: Date.now(),
    actor,
    promptId,
    content: [{ type: "text", text: script.replaceAll(";", "\n") }],
    deadlineAtMs: null,
    idempotency: null,
    lastEventId: live.lastEventId,
    params: null,
    echo: true,
    start: { turnId: RANDOM_IDS.turn(), reservedMicro: 0, price: null },
  });
  if (refusal === null) tell({ admitted: promptId });
}
await live.until(({ queue, running }) => queue.length === 0 && running === null);
tell({ done: true });
process.kill(process.pid, "SIGKILL");

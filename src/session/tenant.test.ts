import { expect, it } from "vitest";
import { PlayedAgents, playedSession } from "./played-agents.fixture.ts";
import { ada } from "./runtime.fixture.ts";
import { promptOf, Stage, TENANT, value } from "./stage.fixture.ts";

it("the stream of a tenant tells that a prompt that waited was taken back", async () => {
  const stage = await Stage.open();
  const { runtime, live } = await playedSession(stage, new PlayedAgents());
  await live.submit(promptOf(live, "one"));
  const { promptId, ...two } = promptOf(live, "two");
  await live.submit({ ...two, promptId });
  const pending: number[] = [];
  const stream = value(runtime.watchTenant({ tenantId: TENANT, userId: null, role: "owner" }));
  for await (const chunk of stream) {
    for (const { frames } of chunk) {
      for (const { text } of frames) {
        const { type, data } = JSON.parse(text);
        if (type === "session_updated") pending.push(data.session.pendingPrompts);
      }
    }
    if (pending.at(-1) === 1) break;
    if (pending.length !== 1) continue;
    await live.submit({ type: "remove_prompt", atMs: Date.now(), actor: ada, promptId });
  }
  expect(pending).toEqual([2, 1]);
  await runtime.shutDown(AbortSignal.abort());
});

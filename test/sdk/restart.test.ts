import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DaemonSessionClient } from "@qwen-code/sdk/daemon";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ServeProcess } from "../server/serve.fixture.ts";
import {
  dataOf,
  expectNoGap,
  joined,
  Listener,
  newSession,
  refusalOf,
  script,
  spoken,
  verdictsOf,
} from "./session.fixture.ts";

const DONE = { stopReason: "end_turn" };
const ALLOW = { outcome: { outcome: "selected" as const, optionId: "allow_once" } };

let server: ServeProcess;

beforeEach(async () => {
  server = await ServeProcess.start();
});

afterEach(() => server.end());

/** Ends it by these signals, and starts it again where it was. */
async function restarted(...signals: readonly NodeJS.Signals[]): Promise<void> {
  await server.kill(...signals);
  await server.restart();
}

/** A turn of Ada's that has said `begun` and does not end by itself. */
async function interrupted(ada: DaemonSessionClient, listener: Listener) {
  const { promptId } = await ada.submitPrompt(script("say begun", "hang"));
  await listener.heard((event) => spoken([event]) === "begun");
  return promptId;
}

describe.each([
  ["kill -9", ["SIGKILL"], "SERVER_RESTART"],
  ["SIGTERM by somebody in a hurry", ["SIGTERM", "SIGINT"], "daemon_shutdown"],
] as const)("a restart by %s is invisible", { timeout: 60_000 }, (_, signals, code) => {
  it("P3: to a stream, which goes on behind its cursor without gap or repeat", async () => {
    const ada = await newSession(server);
    const bob = await joined(server, ada);
    const before = await Listener.caughtUp(ada);
    await ada.prompt(script("say one"));
    await before.leave();
    await bob.prompt(script("say two")); // Ada does not hear it before the restart.
    const { sessionId, clientId, eventEpoch } = ada;

    await restarted(...signals);
    const after = await Listener.caughtUp(ada);
    expect(await ada.prompt(script("say three"))).toMatchObject(DONE);
    const all = [...before.events, ...after.events];
    expectNoGap(all);
    expect(all.map(({ type }) => type)).not.toContain("state_resync_required");
    expect(spoken(all)).toBe("onetwothree");
    expect([ada.sessionId, ada.clientId, ada.eventEpoch]).toEqual([
      sessionId,
      clientId,
      eventEpoch,
    ]);
  });

  it("P1, P2: to a prompt at work, which has one verdict and its partial output", async () => {
    const ada = await newSession(server);
    const before = await Listener.caughtUp(ada);
    const promptId = await interrupted(ada, before);
    await restarted(...signals);
    await before.ended();

    const after = await Listener.caughtUp(ada);
    await ada.prompt(script("say next"));
    const all = [...before.events, ...after.events];
    expectNoGap(all);
    const verdicts = verdictsOf(all, promptId);
    expect(verdicts.map(({ type, data }) => ({ type, data }))).toMatchObject([
      { type: "turn_error", data: { code, partialOutput: true } },
    ]);
    expect(spoken(all)).toBe("begunnext");
  });

  it("P5: to those that wait, which then run in their order", async () => {
    const ada = await newSession(server);
    const before = await Listener.caughtUp(ada);
    await interrupted(ada, before);
    const waiting = [];
    for (const word of ["one", "two"]) waiting.push(await ada.submitPrompt(script(`say ${word}`)));
    await restarted(...signals);
    await before.ended();

    const after = new Listener(ada);
    for (const { promptId } of waiting) {
      expect(await after.verdict(promptId)).toMatchObject({ type: "turn_complete", data: DONE });
    }
    const all = [...before.events, ...after.events];
    expectNoGap(all);
    expect(spoken(all)).toBe("begunonetwo");
  });

  it("P5: to an open request, which is closed with its turn", async () => {
    const ada = await newSession(server);
    const before = await Listener.caughtUp(ada);
    const { promptId } = await ada.submitPrompt(script("ask kind=execute"));
    const { requestId } = dataOf(await before.heard("permission_request"));
    await restarted(...signals);
    await before.ended();

    const after = await Listener.caughtUp(ada);
    const all = [...before.events, ...after.events];
    expectNoGap(all);
    expect(verdictsOf(all, promptId)).toMatchObject([{ type: "turn_error", data: { code } }]);
    const resolved = all.filter(({ type }) => type === "permission_resolved");
    expect(resolved).toMatchObject([{ data: { requestId, outcome: { outcome: "cancelled" } } }]);
    expect(await ada.respondToSessionPermission(String(requestId), ALLOW)).toBe(false);
    expect(await ada.status()).toMatchObject({
      hasActivePrompt: false,
      isWaitingForPermission: false,
    });
  });

  it("to what was set and forgotten: names, models, closed and deleted sessions", async () => {
    const [ada, closed, deleted] = [
      await newSession(server),
      await newSession(server),
      await newSession(server),
    ];
    await ada.updateMetadata({ displayName: "kept" });
    await ada.setModel("echo-large");
    await closed.close();
    await deleted.client.deleteSessionsData([deleted.sessionId]);

    await restarted(...signals);
    expect(await ada.heartbeat()).toMatchObject({ clientId: ada.clientId });
    expect(await ada.status()).toMatchObject({ displayName: "kept" });
    const { state } = await ada.client.resumeSession(ada.sessionId);
    expect(state.models).toMatchObject({ currentModelId: "echo-large" });
    for (const gone of [closed, deleted]) {
      expect(await refusalOf(gone.status())).toMatchObject({ code: "session_not_found" });
    }
  });
});

describe("a server that is told to stop", { timeout: 60_000 }, () => {
  it("P1, P2: lets the turn finish, tells streams why they end, and exits well", async () => {
    const ada = await newSession(server);
    await ada.client.setSessionApprovalMode(ada.sessionId, "auto");
    const listener = await Listener.caughtUp(ada);
    const untilLet = 'run sh -c "until [ -e let ]; do sleep 0.02; done"';
    const { promptId } = await ada.submitPrompt(script("say begun", untilLet, "say ended"));
    await listener.heard((event) => spoken([event]) === "begun");
    const stopped = server.kill("SIGTERM");
    const isOpen = () =>
      fetch(`${server.url}/health`)
        .then(({ ok }) => ok)
        .catch(() => false);
    await expect.poll(isOpen).toBe(false);
    writeFileSync(join(server.workspace, "let"), "");
    expect(await stopped).toBe(0);
    await listener.ended();
    expect(await listener.verdict(promptId)).toMatchObject({ type: "turn_complete" });
    const last = listener.events.at(-1);
    expect(last).toMatchObject({
      type: "stream_error",
      data: { errorKind: "daemon_shutdown" },
    });
    expect(listener.types).not.toContain("session_died");
    expectNoGap(listener.events);
    await server.restart();
    expect(await ada.prompt(script("say more"))).toMatchObject(DONE);
  });
});

import { DaemonSessionClient } from "@qwen-code/sdk/daemon";
import { describe, expect, it } from "vitest";
import { sharedServer } from "../server/serve.fixture.ts";
import {
  clientOf,
  dataOf,
  expectNoGap,
  joined,
  Listener,
  newSession,
  refusalOf,
  script,
  spoken,
} from "./session.fixture.ts";

const server = sharedServer();

describe("a session of the SDK", () => {
  it("is made once for a workspace, and then joined", async () => {
    const [ada, bob] = await Promise.all(
      [1, 2].map(() => DaemonSessionClient.createOrAttach(clientOf(server()), {})),
    );
    expect([ada?.attached, bob?.attached].sort()).toEqual([false, true]);
    expect(ada?.sessionId).toBe(bob?.sessionId);
    expect(ada?.workspaceCwd).toBe(server().workspace);
    expect(ada?.clientId).toMatch(/^client_/);
    expect(ada?.clientId).not.toBe(bob?.clientId);
  });

  it("is another one each time where it is asked for so, with an id of one's own", async () => {
    const client = clientOf(server());
    const sessionId = crypto.randomUUID();
    const named = await DaemonSessionClient.createOrAttach(client, { sessionId });
    expect(named.sessionId).toBe(sessionId);
    const again = refusalOf(DaemonSessionClient.createOrAttach(client, { sessionId }));
    expect(await again).toMatchObject({ status: 409, code: "session_id_conflict" });
    expect((await newSession(server())).sessionId).not.toBe(sessionId);
  });

  it("is in the list of its workspace, with its name and its clients", async () => {
    const ada = await newSession(server());
    await joined(server(), ada);
    expect(await ada.updateMetadata({ displayName: "a name" })).toMatchObject({
      displayName: "a name",
    });
    const listed = await ada.client.listWorkspaceSessions(server().workspace);
    const row = listed.find(({ sessionId }) => sessionId === ada.sessionId);
    expect(row).toMatchObject({ displayName: "a name", clientCount: 2, hasActivePrompt: false });
    expect(await ada.status()).toMatchObject({ displayName: "a name", clientCount: 2 });
  });

  it("tells everybody of its new name, and of who gave it", async () => {
    const ada = await newSession(server());
    const listener = await Listener.caughtUp(await joined(server(), ada));
    await ada.updateMetadata({ displayName: "a name" });
    const named = await listener.heard("session_metadata_updated");
    expect(dataOf(named)).toMatchObject({ sessionId: ada.sessionId, displayName: "a name" });
    expect(named.originatorClientId).toBe(ada.clientId);
    const tooLong = ada.updateMetadata({ displayName: "x".repeat(257) });
    expect(await refusalOf(tooLong)).toMatchObject({ status: 400, code: "invalid_metadata" });
  });

  it("knows who was seen last, by their heartbeats", async () => {
    const ada = await newSession(server());
    const before = Date.now();
    const { sessionId, clientId, lastSeenAt } = await ada.heartbeat();
    expect([sessionId, clientId]).toEqual([ada.sessionId, ada.clientId]);
    expect(lastSeenAt).toBeGreaterThanOrEqual(before);
    const stranger = ada.client.heartbeat(ada.sessionId, "client_nobody");
    expect(await refusalOf(stranger)).toMatchObject({ status: 400, code: "invalid_client_id" });
  });
});

describe("the end of a session for one, or for all", () => {
  it("a client that detaches is forgotten, and the others go on", async () => {
    const ada = await newSession(server());
    const bob = await joined(server(), ada);
    await bob.detach();
    expect(await ada.status()).toMatchObject({ clientCount: 1 });
    expect(await refusalOf(bob.heartbeat())).toMatchObject({ code: "invalid_client_id" });
    expect(await ada.prompt(script("say hello"))).toMatchObject({ stopReason: "end_turn" });
  });

  it("the last to detach ends only the instance: the session stays and goes on", async () => {
    const ada = await newSession(server());
    await ada.prompt(script("say one"));
    await ada.detach();
    const bob = await joined(server(), ada);
    expect(await bob.prompt(script("recall"))).toMatchObject({ stopReason: "end_turn" });
  });

  it("closing ends it for all, with a last event and the end of every stream", async () => {
    const ada = await newSession(server());
    const bob = await joined(server(), ada);
    const listener = await Listener.caughtUp(bob);
    await ada.close();
    const closed = await listener.heard("session_closed");
    expect(dataOf(closed)).toMatchObject({ sessionId: ada.sessionId, reason: "client_close" });
    await listener.ended();
    expect(listener.types.at(-1)).toBe("session_closed");
    expect(await refusalOf(bob.status())).toMatchObject({ status: 404, code: "session_not_found" });
    await bob.close(); // The SDK takes a second one for done.
  });

  it("P2: what runs and waits when it is closed has its verdict", async () => {
    const ada = await newSession(server());
    const listener = await Listener.caughtUp(await joined(server(), ada));
    const runs = await ada.submitPrompt(script("hang"));
    const waits = await ada.submitPrompt(script("say never"));
    await ada.close();
    await listener.ended();
    for (const { promptId } of [runs, waits]) {
      const verdict = await listener.verdict(promptId);
      expect([verdict.type, dataOf(verdict).code]).toEqual(["turn_error", "session_closed"]);
    }
    expectNoGap(listener.events, listener.after);
  });

  it("a closed session can be loaded, with all that happened in it", async () => {
    const ada = await newSession(server());
    await ada.prompt(script("say kept"));
    await ada.close();
    const bob = await DaemonSessionClient.load(clientOf(server()), ada.sessionId);
    expect(bob.replaySnapshotComplete).toBe(true);
    expect(spoken(bob.replaySnapshot.compactedReplay)).toBe("kept");
    expect(await bob.prompt(script("say again"))).toMatchObject({ stopReason: "end_turn" });
  });

  it("deleting several at once says of each what became of it", async () => {
    const [ada, bob] = await Promise.all([newSession(server()), newSession(server())]);
    await bob.prompt(script("say hello"));
    await bob.close();
    const stranger = crypto.randomUUID();
    const ids = [ada.sessionId, bob.sessionId, stranger];
    const { removed, notFound, errors } = await ada.client.deleteSessionsData(ids);
    expect([...removed].sort()).toEqual([ada.sessionId, bob.sessionId].sort());
    expect([notFound, errors]).toEqual([[stranger], []]);
    const load = DaemonSessionClient.load(clientOf(server()), ada.sessionId);
    expect(await refusalOf(load)).toMatchObject({ status: 404, code: "session_not_found" });
  });
});

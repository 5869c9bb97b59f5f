import type { DaemonSessionClient, PermissionResponse } from "@qwen-code/sdk/daemon";
import { describe, expect, it } from "vitest";
import type { MediationPolicy } from "../../src/core/policy/ask.ts";
import { type ServeProcess, sharedServer } from "../server/serve.fixture.ts";
import {
  clientOf,
  dataOf,
  joined,
  Listener,
  newSession,
  refusalOf,
  script,
  spoken,
} from "./session.fixture.ts";

const ALLOW: PermissionResponse = { outcome: { outcome: "selected", optionId: "allow_once" } };
const CANCEL: PermissionResponse = { outcome: { outcome: "cancelled" } };

function serverWith(policy: MediationPolicy): () => ServeProcess {
  return sharedServer({ flags: ["--permission-policy", policy] });
}

interface Asked {
  readonly ada: DaemonSessionClient;
  readonly bob: DaemonSessionClient;
  readonly cleo: DaemonSessionClient;
  /** Of Ada, whose prompt it was. */
  readonly listener: Listener;
  readonly requestId: string;
  /** Of the prompt, which goes on when the agent has its answer. */
  readonly verdict: Promise<unknown>;
}

/** Ada's prompt makes the agent ask, with Bob and Cleo there. */
async function asked(server: ServeProcess): Promise<Asked> {
  const ada = await newSession(server);
  const [bob, cleo] = [await joined(server, ada), await joined(server, ada)];
  const listener = await Listener.caughtUp(ada);
  const verdict = ada.prompt(script("ask kind=execute", "say after"));
  const request = await listener.heard("permission_request");
  const requestId = String(dataOf(request).requestId);
  return { ada, bob, cleo, listener, requestId, verdict };
}

describe("a vote under first-responder", () => {
  const server = serverWith("first-responder");

  it("decides at once, whoever it comes from, and late ones are told", async () => {
    const { ada, bob, cleo, listener, requestId, verdict } = await asked(server());
    const policy = { permission: "first-responder" };
    expect(await ada.client.capabilities()).toMatchObject({ policy });
    expect(await ada.status()).toMatchObject({ isWaitingForPermission: true });
    expect(await bob.respondToSessionPermission(requestId, ALLOW)).toBe(true);
    const resolved = await listener.heard("permission_resolved");
    expect(dataOf(resolved)).toMatchObject({ ...ALLOW, requestId, voterClientId: bob.clientId });
    expect(await verdict).toMatchObject({ stopReason: "end_turn" });
    expect(spoken(listener.events)).toContain("after");
    expect(await cleo.respondToSessionPermission(requestId, CANCEL)).toBe(false);
    await listener.heard("permission_already_resolved");
  });

  it("reaches its session by the id of the request alone, without a name", async () => {
    const { requestId, verdict } = await asked(server());
    expect(await clientOf(server()).respondToPermission(requestId, ALLOW)).toBe(true);
    expect(await verdict).toMatchObject({ stopReason: "end_turn" });
  });

  it("is refused for what was not offered, and the request stays open", async () => {
    const { bob, requestId, verdict } = await asked(server());
    const other: PermissionResponse = { outcome: { outcome: "selected", optionId: "other" } };
    const answer = await refusalOf(bob.respondToSessionPermission(requestId, other));
    expect(answer).toMatchObject({ status: 400, code: "invalid_option_id", optionId: "other" });
    expect(await bob.respondToSessionPermission(requestId, ALLOW)).toBe(true);
    await verdict;
  });
});

describe("a vote under designated", () => {
  const server = serverWith("designated");

  it("is for whoever sent the prompt, and everybody hears of the others", async () => {
    const { ada, bob, listener, requestId, verdict } = await asked(server());
    const answer = await refusalOf(bob.respondToSessionPermission(requestId, ALLOW));
    const reason = "designated_mismatch";
    expect(answer).toMatchObject({ status: 403, code: "permission_forbidden", reason });
    const forbidden = await listener.heard("permission_forbidden");
    expect(dataOf(forbidden)).toMatchObject({ requestId, clientId: bob.clientId, reason });
    expect(await ada.respondToSessionPermission(requestId, ALLOW)).toBe(true);
    expect(await verdict).toMatchObject({ stopReason: "end_turn" });
  });

  it("can be called off by anybody", async () => {
    const { bob, listener, requestId, verdict } = await asked(server());
    expect(await bob.respondToSessionPermission(requestId, CANCEL)).toBe(true);
    expect(dataOf(await listener.heard("permission_resolved"))).toMatchObject(CANCEL);
    await verdict;
  });
});

describe("a vote under consensus", () => {
  const server = serverWith("consensus");

  it("counts for those who were there, until one option has its majority", async () => {
    const { ada, bob, cleo, listener, requestId, verdict } = await asked(server());
    const late = await joined(server(), ada);
    expect(await bob.respondToSessionPermission(requestId, ALLOW)).toBe(true);
    const partial = { votesReceived: 1, votesNeeded: 1, quorum: 2 };
    expect(dataOf(await listener.heard("permission_partial_vote"))).toMatchObject(partial);
    const answer = await refusalOf(late.respondToSessionPermission(requestId, ALLOW));
    expect(answer).toMatchObject({ status: 403, code: "permission_forbidden" });
    expect(await bob.respondToSessionPermission(requestId, ALLOW)).toBe(true); // Counts once.
    expect(await ada.status()).toMatchObject({ isWaitingForPermission: true });
    expect(await cleo.respondToSessionPermission(requestId, ALLOW)).toBe(true);
    expect(dataOf(await listener.heard("permission_resolved"))).toMatchObject(ALLOW);
    expect(await verdict).toMatchObject({ stopReason: "end_turn" });
  });
});

describe("a vote under local-only", () => {
  const server = serverWith("local-only");

  it("counts from this machine, with or without a name", async () => {
    const first = await asked(server());
    expect(await first.cleo.respondToSessionPermission(first.requestId, ALLOW)).toBe(true);
    await first.verdict;
    const second = await asked(server());
    expect(await clientOf(server()).respondToPermission(second.requestId, ALLOW)).toBe(true);
    await second.verdict;
  });
});

import { DaemonSessionClient } from "@qwen-code/sdk/daemon";
import { describe, expect, it } from "vitest";
import { sharedServer } from "../server/serve.fixture.ts";
import {
  clientOf,
  dataOf,
  expectNoGap,
  Listener,
  newSession,
  refusalOf,
  script,
  spoken,
} from "./session.fixture.ts";

const server = sharedServer();
const ALLOW = { outcome: { outcome: "selected" as const, optionId: "allow_once" } };

describe("what happened in a session", () => {
  it("P3: is loaded in mid-turn, and the stream goes on exactly behind it", async () => {
    const ada = await newSession(server());
    const asking = await Listener.caughtUp(ada);
    await ada.prompt(script("say first"));
    const open = ada.prompt(script("say before", "ask", "say after"));
    const { requestId } = dataOf(await asking.heard("permission_request"));

    const bob = await DaemonSessionClient.load(clientOf(server()), ada.sessionId);
    expect(bob.hasActivePrompt).toBe(true);
    expect(bob.replaySnapshotComplete).toBe(true);
    expect(bob.eventEpoch).toBe(ada.eventEpoch);
    const { compactedReplay, liveJournal } = bob.replaySnapshot;
    expect(spoken(compactedReplay)).toBe("first");
    expect(spoken(liveJournal)).toBe("before");
    const following = await Listener.caughtUp(bob);
    expect(following.after).toBe(bob.lastEventId);
    await bob.respondToSessionPermission(String(requestId), ALLOW);
    await open;
    await following.heard("turn_complete");
    expectNoGap(following.events, following.after);
    expect(spoken(following.events)).toMatch(/after$/);
    expect(spoken(following.events)).not.toContain("before");
  });

  it("is not told again to whoever resumes; the agent remembers all the same", async () => {
    const ada = await newSession(server());
    await ada.prompt(script("say first"));
    await ada.close();
    const bob = await DaemonSessionClient.resume(clientOf(server()), ada.sessionId);
    expect(bob.replaySnapshot).toEqual({ compactedReplay: [], liveJournal: [] });
    const listener = await Listener.caughtUp(bob);
    await bob.prompt(script("recall"));
    expectNoGap(listener.events, listener.after);
    expect(spoken(listener.events)).toMatch(/first/);
  });

  it("goes on in a branch, and is left as it was", async () => {
    const ada = await newSession(server());
    await ada.prompt(script("say shared"));
    const name = "another way";
    const branch = await ada.client.branchSession(ada.sessionId, { name }, ada.clientId);
    expect(branch.sessionId).not.toBe(ada.sessionId);
    expect(branch).toMatchObject({
      displayName: name,
      forkedFrom: { sessionId: ada.sessionId },
      attached: false,
    });
    const bob = await DaemonSessionClient.load(clientOf(server()), branch.sessionId);
    expect(spoken(bob.replaySnapshot.compactedReplay)).toBe("shared");
    await bob.prompt(script("say only here"));
    const [again, other] = await Promise.all(
      [ada, bob].map(({ sessionId }) => DaemonSessionClient.load(clientOf(server()), sessionId)),
    );
    expect(spoken(again?.replaySnapshot.compactedReplay ?? [])).toBe("shared");
    expect(spoken(other?.replaySnapshot.compactedReplay ?? [])).toBe("sharedonly here");
  });

  it("is not branched while a prompt is at work", async () => {
    const ada = await newSession(server());
    await ada.submitPrompt(script("hang"));
    const answer = await refusalOf(ada.client.branchSession(ada.sessionId));
    expect(answer).toMatchObject({ status: 409, code: "branch_while_prompt_active" });
    await ada.cancel();
  });

  it.each(["html", "md", "json", "jsonl"] as const)("is exported as %s", async (format) => {
    const ada = await newSession(server());
    await ada.prompt(script("say worth keeping"));
    const file = await ada.client.exportSession(ada.sessionId, { format });
    expect(file.filename).toMatch(new RegExp(`\\.${format}$`));
    expect(file.content).toContain("worth keeping");
  });

  it("is paged as a transcript", async () => {
    const ada = await newSession(server());
    for (const word of ["one", "two", "three"]) await ada.prompt(script(`say ${word}`));
    const page = await ada.getTranscriptPage({ limit: 100 });
    const texts = JSON.stringify(page.events);
    for (const word of ["one", "two", "three"]) expect(texts).toContain(`"text":"${word}"`);
    expect(page.hasMore).toBe(false);
  });
});

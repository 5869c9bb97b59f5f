// Servers and ways to them that are not as the client would like them.

import { describe, expect, it } from "vitest";
import { Fermata } from "../../src/client/index.ts";
import type { Person } from "../../src/server/identity/people.fixture.ts";
import { Team } from "../../src/server/identity/team.fixture.ts";
import { sharedServer } from "../server/serve.fixture.ts";
import { playedServer, streamOf } from "./played-server.fixture.ts";
import { RoughWay } from "./rough-way.fixture.ts";

const event = (id: number, type: string, data: object) => {
  return { id, v: 1, type, data: { sessionId: "s", ...data }, promptId: "p" };
};

const VERDICT = event(2, "turn_complete", { promptId: "p", stopReason: "end_turn" });

const SAID = event(1, "session_update", {
  update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "one" } },
});

describe("an older server", { timeout: 60_000 }, () => {
  it("has no route for what is newer: the call is refused, and not sent again", async () => {
    const text = JSON.stringify({ error: "Not found", code: "route_not_found" });
    const { url, asked } = await playedServer(() => ({ status: 404, text }));
    const listed = new Fermata({ url }).sessions.list()[Symbol.asyncIterator]().next();
    await expect(listed).rejects.toMatchObject({ code: "route_not_found", status: 404 });
    expect(asked).toHaveLength(1);
  });

  it("says nothing of epochs and times: a turn has its verdict all the same", async () => {
    const epochs: (string | undefined)[] = [];
    const { url } = await playedServer((path, _count, request) => {
      if (path.endsWith("/prompt")) {
        return { status: 202, text: JSON.stringify({ promptId: "p", lastEventId: 0 }) };
      }
      if (!path.endsWith("/events")) return { text: JSON.stringify({ sessionId: "s" }) };
      epochs.push(request.headers["x-qwen-event-epoch"]?.toString());
      const { text = "" } = streamOf(SAID, VERDICT);
      return { headers: { "content-type": "text/event-stream" }, text, stays: true };
    });
    const session = await new Fermata({ url }).sessions.open("s");
    const turn = await session.prompt("hi");
    expect(await turn.verdict).toMatchObject({ kind: "complete", text: "one" });
    expect(epochs).toEqual([undefined]);
  });
});

describe("another service at the server's address", { timeout: 60_000 }, () => {
  it("answers for a stream with a page: that is said, and not tried for ever", async () => {
    const { url } = await playedServer((path) => {
      if (path.endsWith("/events")) {
        return { headers: { "content-type": "text/html" }, text: "<html>Sign in to the network" };
      }
      const text = JSON.stringify({
        sessionId: "s",
        promptId: "p",
        lastEventId: 0,
        eventEpoch: "e",
      });
      return { text };
    });
    const session = await new Fermata({ url }).sessions.open("s");
    const turn = await session.prompt("hi");
    await expect(turn.verdict).rejects.toMatchObject({ code: "answer_unreadable", status: 200 });
  });
});

describe("a slow way to the server", { timeout: 60_000 }, () => {
  const server = sharedServer();

  it("P3: brings every byte by itself: characters and frames are put together again", async () => {
    const way = await RoughWay.to(server().port);
    way.isSlow = true;
    const session = await new Fermata({ url: way.url }).sessions.create();
    const turn = await session.prompt("say Grüße, 世界 👋");
    let text = "";
    for await (const part of turn) if (part.type === "text") text += part.text;
    expect(text).toBe("Grüße, 世界 👋");
    expect(await turn.verdict).toMatchObject({ kind: "complete", text: "Grüße, 世界 👋" });
  });
});

describe("a wait that outlives its token", { timeout: 60_000 }, () => {
  const as = (team: Team, { token }: Pick<Person, "token">) =>
    new Fermata({ url: team.people.world.url, token });

  it("P8: ends for whom the token was revoked, and goes on for the others", async () => {
    const team = await Team.open();
    const session = await as(team, team.ada).sessions.create();
    const turn = await session.prompt("hang");
    const verdict = turn.verdict.catch((error) => error);
    const followed = session.view();
    await followed.until(({ connection }) => connection === "live");
    await team.own.call("DELETE", `/tokens/${team.ada.tokenId}`);
    expect(await verdict).toMatchObject({ code: "unauthorized" });
    await expect(session.cancel()).rejects.toMatchObject({ code: "unauthorized", status: 401 });
    followed.dispose();
  });
});

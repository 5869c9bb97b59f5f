import { describe, expect, it } from "vitest";
import { parseUserId } from "../../id.ts";
import type { Actor } from "../command.ts";
import { evolve } from "../evolve.ts";
import { AGENT, askId, client, dataOf, Life, newAsk } from "../life.fixture.ts";

const ADA: Actor = {
  kind: "client",
  clientId: null,
  userId: parseUserId("ada"),
  loopback: true,
};

describe("session grants", () => {
  const always = { outcome: "selected", optionId: "always" } as const;

  function granted(): Life {
    const life = new Life().running().attached("c1");
    for (const [id, path] of Object.entries({ a1: "/a.ts", a2: "/b.ts" })) {
      const toolCall = { toolCallId: id, kind: "edit", locations: [{ path }] };
      life.give("ask", newAsk(id, { toolCall }), AGENT);
      life.give("vote", { requestId: askId(id), outcome: always }, ADA);
    }
    return life;
  }

  const keys = ({ now }: Life) => [...now.connection.sessionGrants.keys()];

  it("say who gave them", () => {
    const added = granted().log.filter(({ type }) => type === "session_grant_added");
    expect(added).toMatchObject([
      { originatorUserId: "ada", data: { key: "edit:/a.ts", tier: "write", requestId: "a1" } },
      { originatorUserId: "ada", data: { key: "edit:/b.ts", tier: "write", requestId: "a2" } },
    ]);
  });

  it("are taken back one by one, or all at once, and none at all is as good", () => {
    const life = granted();
    const { events } = life.give("revoke_grant", { key: null }, client("c1"));
    expect(dataOf(events, "session_grant_revoked").map(({ key }) => key)).toEqual([
      "edit:/a.ts",
      "edit:/b.ts",
    ]);
    expect(events[0]).toMatchObject({ originatorClientId: "c1" });
    expect(keys(life)).toEqual([]);
    expect(life.give("revoke_grant", { key: null })).toMatchObject({
      kind: "accepted",
      events: [],
    });
  });

  it("P4: that are taken back let the next such call ask again", () => {
    const life = granted();
    life.give("revoke_grant", { key: "edit:/a.ts" });
    expect(keys(life)).toEqual(["edit:/b.ts"]);
    life.give("ask", newAsk("a3"), AGENT);
    expect(life.state).toBe("waiting");
  });

  it("that older rules gave are void, and the next start of the agent says so", () => {
    const life = new Life().ready();
    const data = { sessionId: life.now.sessionId, key: "execute:Bash", tier: "execute" } as const;
    const _meta = { serverTimestamp: 1 };
    life.session = evolve(life.now, { v: 1, type: "session_grant_added", data, _meta });
    expect(keys(life)).toEqual([]);
    life.give("agent_exit", { exitCode: 1, signalCode: null, message: "" }, AGENT);
    const { events } = life.give("activate", {});
    expect(dataOf(events, "session_grant_revoked")).toMatchObject([
      { key: "execute:Bash", reason: "rules_changed" },
    ]);
    expect(life.now.voidGrants).toEqual([]);
  });

  it.each([
    ["a stop", (life: Life) => life.give("stop", { reason: "killed" })],
    ["a close", (life: Life) => life.give("close", {})],
    ["a crash", (life: Life) => life.give("recovery", {})],
    ["a failed store", (life: Life) => life.give("store_failure", {})],
  ])("are lost with the instance: after %s", (_, end) => {
    const life = granted();
    expect(keys(life)).toHaveLength(2);
    end(life);
    life.give("agent_status", { status: "terminated" }, AGENT);
    expect(life.now.phase).toBe("Closed");
    expect(keys(life)).toEqual([]);
  });
});

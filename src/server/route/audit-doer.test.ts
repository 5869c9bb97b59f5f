import { describe, expect, it } from "vitest";
import { People, type Person } from "../identity/people.fixture.ts";
import { Approvals } from "./approval.fixture.ts";

/** A session of Ada's whose agent is there, and Ben, who may write in it. */
async function shared() {
  const people = await People.open();
  const ada = await people.person("ada", "owner");
  const ben = await people.person("ben", "member");
  const body = { sessionScope: "thread" };
  const made = await ada.call("POST", "/session", { body, clientId: "ada-1" });
  return { ada, ben, sessionId: String(made.body.sessionId) };
}

async function actorsOf(reader: Person, query: string): Promise<readonly unknown[]> {
  const { body } = await reader.call("GET", `/audit?${query}`);
  const entries: readonly { readonly actor: unknown }[] = Object(body.entries);
  return entries.map(({ actor }) => actor);
}

const BEN = { kind: "client", userId: "ben" };

describe("who did it, in a tenant's audit", () => {
  it("is whoever closed a session, and is found by their name", async () => {
    const { ada, ben, sessionId } = await shared();
    expect((await ben.call("DELETE", `/session/${sessionId}`)).status).toBe(204);
    expect(await actorsOf(ada, "act=session_closed&user=ben")).toEqual([BEN]);
    expect(await actorsOf(ada, "act=session_closed")).toHaveLength(1);
  });

  it("is whoever deleted it, for its closing as for its end", async () => {
    const { ada, sessionId } = await shared();
    const body = { sessionIds: [sessionId] };
    const deleted = await ada.call("POST", "/sessions/delete", { body });
    expect(deleted.body.removed).toEqual([sessionId]);
    const actor = { kind: "client", userId: "ada" };
    expect(await actorsOf(ada, "act=session_closed,session_deleted")).toEqual([actor, actor]);
  });

  it("is each caller for themselves, however many refusals another one has had", async () => {
    const { ada, ben, sessionId } = await shared();
    const path = `/session/${sessionId}/approval-mode`;
    const yolo = { body: { mode: "yolo" } };
    for (let n = 0; n < 300; n += 1) await ada.call("POST", path, yolo);
    expect((await ben.call("POST", path, yolo)).status).toBe(403);
    expect(await actorsOf(ada, "act=command_refused&user=ben")).toEqual([BEN]);
    expect(await actorsOf(ada, "act=command_refused&user=ada&limit=500")).toHaveLength(256);
  });
});

describe("a branch, in the audit of the session that it is of", () => {
  it("is whoever's who made it", async () => {
    const session = await Approvals.open();
    const ben = await session.people.person("ben", "member");
    await session.turn("say hello");
    const made = await ben.call("POST", `${session.path}/branch`, { body: {} });
    expect(made.status, made.text).toBe(201);
    expect(await actorsOf(session.ada, "act=session_branched")).toEqual([BEN]);
  });
});

describe("what was before, in the answer to a change", () => {
  it.each([
    ["approval-mode", "mode", ["default", "auto-edit", "auto", "plan"]],
    ["autonomy", "profile", ["manual", "supervised", "balanced", "autonomous"]],
    ["sandbox", "state", ["none", "provisioning", "ready", "timed_out"]],
  ])("is right when several come at the same time: %s", async (route, field, words) => {
    const { ada, sessionId } = await shared();
    const [first, ...others] = words;
    const set = (word: string) => {
      return ada.call("POST", `/session/${sessionId}/${route}`, { body: { [field]: word } });
    };
    const answers = await Promise.all(others.map(set));
    // In any order, they follow each other without a gap and without a repeat.
    const before = new Map(answers.map(({ body }) => [body.previous, body[field]]));
    const chain: unknown[] = [first];
    while (before.has(chain.at(-1))) chain.push(before.get(chain.at(-1)));
    expect(chain.toSorted()).toEqual(words.toSorted());
    expect((await set(String(chain.at(-1)))).body.previous).toBe(chain.at(-1));
  });
});

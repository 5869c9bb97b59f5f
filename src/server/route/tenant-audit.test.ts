import { mkdirSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PAGE_BYTES_MAX } from "../../core/limits.ts";
import { AWAY, altered } from "../../session/altered-store.fixture.ts";
import { value } from "../../session/stage.fixture.ts";
import type { SessionStore } from "../../store/store.ts";
import { tenant } from "../identity/identity.fixture.ts";
import { People, type Person } from "../identity/people.fixture.ts";

interface Entry {
  readonly seq: number;
  readonly act: string;
}

async function opened(options: Parameters<typeof People.open>[0] = {}) {
  const people = await People.open(options);
  const ada = await people.person("ada", "owner");
  return { people, ada };
}

/** All pages of what is asked for. */
async function entriesOf(person: Person, query: string, limit = 500): Promise<readonly Entry[]> {
  const read: Entry[] = [];
  for (let cursor = ""; ; ) {
    const { status, body } = await person.call("GET", `/audit?limit=${limit}&${query}${cursor}`);
    expect([query, status]).toEqual([query, 200]);
    const entries: readonly Entry[] = Object(body.entries);
    expect(entries.length).toBeLessThanOrEqual(limit);
    read.push(...entries);
    expect(body.hasMore).toBe("nextCursor" in body);
    if (body.hasMore !== true) return read;
    cursor = `&cursor=${body.nextCursor}`;
  }
}

const actsOf = (entries: readonly Entry[]) => entries.map(({ act }) => act);

async function made(person: Person, body: object = {}): Promise<string> {
  const session = { sessionScope: "thread", ...body };
  const answer = await person.call("POST", "/session", { body: session, clientId: "tab-1" });
  expect(answer.status).toBe(200);
  return String(answer.body.sessionId);
}

describe("GET /audit", () => {
  it("is what was done in the tenant, newest first, each entry of the same shape", async () => {
    const { ada } = await opened();
    await ada.call("POST", "/members/bob", { body: { role: "viewer" } });
    const sessionId = await made(ada);
    await ada.call("POST", `/credits/budgets/session:${sessionId}`, { body: { budgetMicro: 9 } });
    await ada.call("POST", "/sessions/delete", { body: { sessionIds: [sessionId] } });
    const entries = await entriesOf(ada, "");
    const seqs = entries.map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.map((_, n) => seqs.length - n));
    for (const entry of entries) {
      expect(entry).toMatchObject({
        v: 1,
        at: expect.stringMatching(/^\d{4}-.*Z$/),
        act: expect.stringMatching(/^[a-z_]+$/),
        actor: { kind: expect.stringMatching(/^(client|operator|agent|server)$/) },
        accepted: true,
        details: expect.any(Object),
      });
    }
    expect(entries.at(-1)).toMatchObject({ act: "member_set", actor: { kind: "operator" } });
    expect(entries[0]).toMatchObject({
      act: "session_deleted",
      sessionId,
      actor: { kind: "client", userId: "ada" },
    });
    const told = actsOf(entries);
    const wanted = ["token_created", "session_created", "session_budget_changed"];
    expect(told).toEqual(expect.arrayContaining(wanted));
    expect(await entriesOf(ada, "", 3)).toEqual(entries);
  });

  it("is for owners and admins", async () => {
    const { people, ada } = await opened();
    expect((await ada.call("GET", "/audit")).status).toBe(200);
    const admin = await people.person("grace", "admin");
    expect((await admin.call("GET", "/audit")).status).toBe(200);
    for (const role of ["member", "viewer"] as const) {
      const person = await people.person(role, role);
      const { status, body } = await person.call("GET", "/audit");
      expect([status, body.code]).toEqual([403, "role_required"]);
    }
  });

  it("has what is asked for only, and what is asked for together", async () => {
    const { people, ada } = await opened();
    const grace = await people.person("grace", "owner");
    const [hers, others] = [await made(ada), await made(grace)];
    await grace.call("DELETE", "/members/ghost");
    await grace.call("POST", "/members/bob", { body: { role: "viewer" } });
    const count = async (query: string) => (await entriesOf(ada, query, 2)).length;
    expect(actsOf(await entriesOf(ada, "act=member_set&user=grace"))).toEqual(["member_set"]);
    expect(await count("act=member_set,token_created")).toBe(5);
    expect(await count(`session=${hers}&act=session_created`)).toBe(1);
    expect(await count(`session=${others}&user=ada`)).toBe(0);
    expect(await count("client=tab-1&act=session_created")).toBe(2);
    expect(await count("client=tab-2")).toBe(0);
    expect(await count("from=2999-01-01")).toBe(0);
    expect(await count("to=2000-01-01T00:00Z")).toBe(0);
    expect(await count("from=0&to=2999-01-01")).toBe((await entriesOf(ada, "")).length);
  });

  it("has what was refused, with its code", async () => {
    const { ada } = await opened();
    const sessionId = await made(ada);
    const body = { budgetMicro: 5 };
    await ada.call("POST", `/credits/budgets/session:${sessionId}`, { body });
    await ada.call("POST", `/session/${sessionId}/model`, { body: { modelId: "no such" } });
    const wrong = { outcome: { outcome: "selected", optionId: "x" } };
    await ada.call("POST", `/session/${sessionId}/permission/none`, { body: wrong });
    const refused = await entriesOf(ada, "accepted=false");
    expect(refused.length).toBeGreaterThan(0);
    for (const entry of refused) {
      expect(entry).toMatchObject({ accepted: false, code: expect.any(String), sessionId });
    }
    const accepted = await entriesOf(ada, "accepted=true");
    expect(accepted.length + refused.length).toBe((await entriesOf(ada, "")).length);
  });

  it("P8: has nothing of another tenant, and does not know its sessions", async () => {
    const { people, ada } = await opened();
    const stranger = await people.person("ada", "owner", tenant("other"));
    const theirs = await made(stranger);
    await stranger.call("POST", "/members/eve", { body: { role: "viewer" } });
    expect(JSON.stringify(await entriesOf(ada, ""))).not.toContain(theirs);
    for (const format of ["json", "ndjson", "csv"]) {
      const foreign = await ada.call("GET", `/audit?format=${format}&session=${theirs}`);
      const unknown = await ada.call("GET", `/audit?format=${format}&session=none`);
      expect([foreign.status, foreign.text]).toEqual([unknown.status, unknown.text]);
    }
    const { nextCursor } = (await stranger.call("GET", "/audit?limit=1")).body;
    const { status, body } = await ada.call("GET", `/audit?cursor=${nextCursor}`);
    expect([status, body.code]).toEqual([400, "invalid_cursor"]);
  });

  it("takes no cursor with another filter, and none that it has not given", async () => {
    const { ada } = await opened();
    const { nextCursor } = (await ada.call("GET", "/audit?limit=1&accepted=true")).body;
    const same = await ada.call("GET", `/audit?limit=7&accepted=true&cursor=${nextCursor}`);
    expect(same.status).toBe(200);
    const none = ["", "0-", "1", "odd", "9".repeat(99)];
    const others = none.map((cursor) => `accepted=true&cursor=${cursor}`);
    for (const query of [
      `cursor=${nextCursor}`,
      `act=member_set&cursor=${nextCursor}`,
      ...others,
    ]) {
      const { status, body } = await ada.call("GET", `/audit?${query}`);
      expect([query, status, body.code]).toEqual([query, 400, "invalid_cursor"]);
    }
  });

  it("says which acts there are, where one is asked for that is none", async () => {
    const { ada } = await opened();
    const { body } = await ada.call("GET", "/audit?act=token_create");
    expect(body.error).toMatch(
      /^The query is not valid at act\.0: it is one of \w.*\btoken_created/,
    );
    for (const act of ["fs.read", "turn_complete", "command_refused", "restored"]) {
      expect(body.error).toContain(act);
      expect((await ada.call("GET", `/audit?act=${act}`)).status).toBe(200);
    }
  });

  it.each([
    ["limit=0", "limit"],
    ["limit=501", "limit"],
    ["limit=x", "limit"],
    ["format=xml", "format"],
    ["format=csv&limit=5", "limit"],
    ["format=ndjson&cursor=1", "cursor"],
    ["session=a/b", "session"],
    ["user=", "user"],
    ["client=%20", "client"],
    ["act=", "act.0"],
    ["act=member_set,nonsense", "act.1"],
    ["act=client_attached", "act.0"],
    [`act=${"x".repeat(65)}`, "act.0"],
    [`act=${"x,".repeat(40)}x`, "act"],
    ["accepted=maybe", "accepted"],
    ["from=yesterday", "from"],
    ["from=2026-13-45", "from"],
    ["to=12:00", "to"],
  ])("does not understand %s", async (query, path) => {
    const { ada } = await opened();
    const { status, body } = await ada.call("GET", `/audit?${query}`);
    expect([status, body.code, body.path]).toEqual([400, "invalid_request", path]);
  });
});

describe("GET /audit as a file", () => {
  it("is every entry that is meant, the oldest first", async () => {
    const { ada } = await opened();
    await made(ada);
    const entries = (await entriesOf(ada, "accepted=true")).toReversed();
    const lines = await ada.call("GET", "/audit?accepted=true&format=ndjson");
    expect(lines.headers["content-type"]).toBe("application/x-ndjson; charset=utf-8");
    const told = lines.text.split("\n").slice(0, -1);
    expect(told.map((line) => JSON.parse(line))).toEqual(entries);
    const table = await ada.call("GET", "/audit?accepted=true&format=csv");
    expect(table.headers["content-type"]).toBe("text/csv; charset=utf-8");
    expect(table.headers["content-disposition"]).toContain('filename="fermata-audit.csv"');
    const [head, ...rows] = table.text.split("\r\n").slice(0, -1);
    expect(head).toMatch(/^seq,at,act,accepted,code,actor,userId/);
    expect(rows.map((row) => Number(row.split(",")[0]))).toEqual(entries.map(({ seq }) => seq));
  });

  it("P10: is not read on when whoever wanted it has left", async () => {
    let pagesRead = 0;
    const wrap = (store: SessionStore) =>
      altered(store, {
        readJournal: (tenantId, query) => {
          if (query.limit > 1) pagesRead += 1;
          return store.readJournal(tenantId, query);
        },
      });
    const { people, ada } = await opened({ stage: { wrap } });
    const { port, daemon, server } = people.world;
    const told = { v: 1, act: "x", actor: { kind: "server" }, accepted: true };
    const text = JSON.stringify({ ...told, details: { long: "x".repeat(PAGE_BYTES_MAX / 100) } });
    for (let n = 0; n < 8; n += 1) {
      const entries = Array.from({ length: 100 }, (_, m) => {
        return { journal: "audit", key: `${n} ${m}`, sessionId: null, atMs: 1, text } as const;
      });
      value(await daemon.world.store.appendJournal(tenant("acme"), entries));
    }
    const { promise: left, resolve } = Promise.withResolvers<void>();
    const { headers } = ada;
    const path = "/audit?format=ndjson";
    request({ port, host: "127.0.0.1", path, headers, agent: false }, (response) => {
      response.once("data", () => response.destroy()).once("close", resolve);
    }).end();
    await left;
    await expect.poll(() => server.openRequestCount).toBe(0);
    // All of it would have been eight pages, and more.
    expect(pagesRead).toBeGreaterThan(0);
    expect(pagesRead).toBeLessThan(5);
  });
});

describe("what people would look for in an audit", () => {
  it("are workspaces that were added and trusted, and by whom", async () => {
    const { people, ada } = await opened();
    const cwd = join(people.world.stage.folder, "more");
    mkdirSync(cwd);
    const add = (body: object) => ada.call("POST", "/workspaces", { body: { cwd, ...body } });
    const { id: workspaceId } = (await add({})).body;
    await add({});
    await add({ trusted: true });
    await add({ trusted: false });
    const actor = { kind: "client", userId: "ada" };
    const told = await entriesOf(ada, "act=workspace_added,workspace_trust_set");
    expect(told).toMatchObject([
      { act: "workspace_trust_set", actor, details: { workspaceId, cwd, trusted: false } },
      { act: "workspace_added", actor, details: { workspaceId, cwd, trusted: true } },
    ]);
    expect(told).toHaveLength(2);
  });

  it("is told with a workspace that is added, or it is not", async () => {
    let isMute = false;
    const wrap = (store: SessionStore) =>
      altered(store, {
        writeDocument: (tenantId, document) =>
          isMute && document.entries?.length
            ? Promise.resolve(AWAY)
            : store.writeDocument(tenantId, document),
      });
    const { people, ada } = await opened({ stage: { wrap } });
    const cwd = join(people.world.stage.folder, "more");
    mkdirSync(cwd);
    isMute = true;
    expect((await ada.call("POST", "/workspaces", { body: { cwd } })).status).toBe(503);
    expect((await ada.call("GET", "/workspaces")).body.workspaces).toHaveLength(1);
  });

  it("are the tokens of people, made, rotated and revoked", async () => {
    const { people, ada } = await opened();
    const bob = await people.person("bob", "member");
    await ada.call("POST", `/tokens/${bob.tokenId}/rotate`, { body: {} });
    await ada.call("DELETE", `/tokens/${bob.tokenId}`);
    expect(actsOf(await entriesOf(ada, "user=ada"))).toEqual(["token_revoked", "token_rotated"]);
  });
});

import { describe, expect, it } from "vitest";
import { parseUserId } from "../../id.ts";
import { CLIENTS_MAX, SHELL_CONTEXT_CHARS_MAX, SHELLS_OPEN_MAX } from "../../limits.ts";
import { client, clientId, dataOf, Life, shellId, types, verdictOn } from "../life.fixture.ts";

const user = (name: string) => {
  const userId = parseUserId(name);
  return { kind: "client", clientId: null, userId, loopback: true } as const;
};

describe("a client", () => {
  const c1 = { clientId: clientId("c1"), idle: [] };

  it("is registered as often as it attaches, and forgotten when it has detached as often", () => {
    const life = new Life().ready().attached("c1", "c1");
    expect(life.now.clients.get(c1.clientId)?.count).toBe(2);
    life.give("detach", c1);
    expect(life.now.clients.has(c1.clientId)).toBe(true);
    life.give("detach", c1);
    expect(life.now.clients.has(c1.clientId)).toBe(false);
    expect(life.give("detach", c1)).toMatchObject({ kind: "accepted", events: [] });
  });

  it("expires whole, however often it attached", () => {
    const life = new Life().ready().attached("c1", "c1");
    expect(types(life.give("client_expiry", c1))).toEqual(["client_expired"]);
    expect(life.now.clients.size).toBe(0);
    expect(life.give("client_expiry", c1).events).toEqual([]);
  });

  it("P8: stays with the user who registered it", () => {
    const life = new Life().ready();
    life.give("attach", c1, user("ada"));
    expect(verdictOn(life.give("attach", c1, user("eve")))).toBe("invalid_client_id");
    expect(verdictOn(life.give("attach", c1, user("ada")))).toBe("accepted");
    const inHerName = { ...user("eve"), clientId: c1.clientId };
    expect(verdictOn(life.give("cancel", {}, inHerName))).toBe("invalid_client_id");
    expect(life.give("detach", c1, inHerName).events).toEqual([]);
  });

  it("P10: is one of 256 at most; a known one may always attach again", () => {
    const life = new Life().ready();
    for (let n = 0; n < CLIENTS_MAX; n += 1) life.attached(`c${n}`);
    const all = [...life.now.clients.keys()];
    const more = { clientId: clientId("more"), idle: [] };
    expect(verdictOn(life.give("attach", more))).toBe("client_limit_exceeded");
    expect(verdictOn(life.give("attach", c1))).toBe("accepted");
    const room = life.give("attach", { ...more, idle: all.slice(2) });
    expect(dataOf(room.events, "client_expired")).toMatchObject([{ clientId: "c2" }]);
    expect(life.now.clients.size).toBe(CLIENTS_MAX);
  });

  it("survives the end of the instance", () => {
    const life = new Life().ready().attached("c1");
    life.give("recovery", {});
    expect(verdictOn(life.give("cancel", {}, client("c1")))).toBe("accepted");
  });
});

describe("a client's shell", () => {
  const sh1 = shellId("sh1");
  const started = { shellId: sh1, command: "make", cwd: "/workspace", idempotency: null };
  const ended = { command: "make", exitCode: 2, signal: null, aborted: false, output: "no" };
  const c1 = client("c1");

  it("is told as it happens, in its caller's name", () => {
    const life = new Life().ready().attached("c1");
    life.give("shell_started", started, c1);
    life.give("shell_output", { shellId: sh1, output: "no" });
    life.give("shell_result", { shellId: sh1, ...ended });
    const told = life.log.slice(-3);
    expect(told.map(({ type }) => type)).toEqual([
      "user_shell_command",
      "session_update",
      "user_shell_result",
    ]);
    expect(told.every((event) => event.originatorClientId === "c1")).toBe(true);
    expect(dataOf(told, "session_update")).toMatchObject([
      { update: { sessionUpdate: "shell_output", output: "no", _meta: { source: "user-shell" } } },
    ]);
    expect(life.now.shells.size).toBe(0);
  });

  it("is for callers with a name, and knows which command is meant", () => {
    const life = new Life().ready().attached("c1");
    expect(verdictOn(life.give("shell_started", started, client(null)))).toBe("client_id_required");
    expect(verdictOn(life.give("shell_started", started, client("no")))).toBe("invalid_client_id");
    expect(verdictOn(life.give("shell_result", { shellId: sh1, ...ended }))).toBe(
      "shell_not_found",
    );
  });

  it("P2: sent twice with one key runs once, and is answered the same", () => {
    const life = new Life().ready().attached("c1", "c2");
    const idempotency = { key: "k", hash: "h" };
    const answer = { shellId: "sh1" };
    expect(life.give("shell_started", { ...started, idempotency }, c1)).toMatchObject({ answer });
    const again = { ...started, shellId: shellId("sh2"), idempotency };
    expect(life.give("shell_started", again, c1)).toMatchObject({ answer, events: [] });
    const other = { ...again, idempotency: { key: "k", hash: "other" } };
    expect(verdictOn(life.give("shell_started", other, c1))).toBe("idempotency_conflict");
    const endless = { ...again, idempotency: { key: "k".repeat(257), hash: "h" } };
    expect(verdictOn(life.give("shell_started", endless, c1))).toBe("invalid_idempotency_key");
    const another = life.give("shell_started", again, client("c2"));
    expect(another).toMatchObject({ answer: { shellId: "sh2" } });
  });

  it("P5: that runs when its instance ends is aborted, and says so", () => {
    const life = new Life().ready().attached("c1");
    life.give("shell_started", started, c1);
    const { events } = life.give("recovery", {});
    expect(dataOf(events, "user_shell_result")).toMatchObject([{ shellId: "sh1", aborted: true }]);
    expect(life.now.shells.size).toBe(0);
  });

  it("P10: runs sixteen at a time", () => {
    const life = new Life().ready().attached("c1");
    for (let n = 0; n < SHELLS_OPEN_MAX; n += 1) {
      life.give("shell_started", { ...started, shellId: shellId(`sh${n}`) }, c1);
    }
    const more = { ...started, shellId: shellId("more") };
    expect(verdictOn(life.give("shell_started", more, c1))).toBe("shell_limit_exceeded");
  });

  it("P10: keeps the newest results for the agent, within one budget, the command included", () => {
    const life = new Life().ready().attached("c1");
    const run = (id: string, output: string) => {
      life.give("shell_started", { ...started, shellId: shellId(id) }, c1);
      life.give("shell_result", { ...ended, shellId: shellId(id), output });
    };
    run("a", "x".repeat(SHELL_CONTEXT_CHARS_MAX));
    expect(life.now.shellContext[0]).toMatch(/^\$ make\nx+\n\(exit code 2\)$/);
    run("b", "x".repeat(SHELL_CONTEXT_CHARS_MAX));
    run("c", "no");
    expect(life.now.shellContext.at(-1)).toBe("$ make\nno\n(exit code 2)");
    expect(life.now.shellContext.join("").length).toBeLessThanOrEqual(SHELL_CONTEXT_CHARS_MAX);
  });
});

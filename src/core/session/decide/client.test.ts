import { describe, expect, it } from "vitest";
import { parseUserId } from "../../id.ts";
import { CLIENTS_MAX, SHELL_CONTEXT_CHARS_MAX } from "../../limits.ts";
import { client, clientId, dataOf, Life, types, verdictOn } from "../life.fixture.ts";

const user = (name: string) => {
  const userId = parseUserId(name);
  return { kind: "client", clientId: null, userId, loopback: true } as const;
};

describe("a client", () => {
  const c1 = { clientId: clientId("c1") };

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
    const more = life.give("attach", { clientId: clientId("more") });
    expect(verdictOn(more)).toBe("client_limit_exceeded");
    expect(verdictOn(life.give("attach", c1))).toBe("accepted");
  });

  it("survives the end of the instance", () => {
    const life = new Life().ready().attached("c1");
    life.give("recovery", {});
    expect(verdictOn(life.give("cancel", {}, client("c1")))).toBe("accepted");
  });
});

describe("a client's shell", () => {
  const result = { command: "make", exitCode: 2, signal: null, aborted: false, output: "no" };

  it("is told as it happens, in its caller's name", () => {
    const life = new Life().ready().attached("c1");
    life.give("shell_started", { command: "make", cwd: "/workspace" }, client("c1"));
    life.give("shell_output", { output: "no" }, client("c1"));
    life.give("shell_result", result, client("c1"));
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
  });

  it("P10: keeps the newest results for the agent, within one budget", () => {
    const life = new Life().ready();
    const output = "x".repeat(SHELL_CONTEXT_CHARS_MAX);
    life.give("shell_result", { ...result, output });
    life.give("shell_result", result);
    const kept = life.now.shellContext;
    expect(kept).toEqual(["$ make\nno\n(exit code 2)"]);
    expect(kept.join("").length).toBeLessThanOrEqual(SHELL_CONTEXT_CHARS_MAX);
  });
});

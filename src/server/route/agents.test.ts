import { describe, expect, it } from "vitest";
import { AGENT_TRACES_MAX } from "../../core/limits.ts";
import { ACME, tenant } from "../identity/identity.fixture.ts";
import { People } from "../identity/people.fixture.ts";

describe("the routes about running agents", () => {
  it.each(["admin", "member", "viewer"] as const)("are not for an %s", async (role) => {
    const people = await People.open();
    const person = await people.person("bob", role);
    const asked = ["GET /agents/trace", "GET /agents/echo/logs"];
    for (const line of [...asked, "POST /agents/echo/restart", "POST /agents/echo/logout"]) {
      const [method = "", path = ""] = line.split(" ");
      const { status, body } = await person.call(method, path);
      expect([line, status, body.code]).toEqual([line, 403, "role_required"]);
    }
  });

  it("tell everyone which agents there are, and only owners what runs", async () => {
    const people = await People.open();
    const bob = await people.person("bob", "viewer");
    const { status, body } = await bob.call("GET", "/agents");
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(["agents"]);
    expect(body.agents).toContainEqual({
      name: "echo",
      title: expect.any(String),
      installed: true,
      default: true,
    });
    expect(body.agents).toContainEqual(expect.objectContaining({ name: "gemini", default: false }));
  });

  it("P8: show and touch nothing of another tenant", async () => {
    const people = await People.open();
    const [ada, eve] = [
      await people.person("ada", "owner", ACME),
      await people.person("eve", "owner", tenant("globex")),
    ];
    const body = { sessionScope: "thread" };
    expect((await ada.call("POST", "/session", { body })).status).toBe(200);
    expect((await ada.call("GET", "/agents")).body.processes).toMatchObject([
      { profile: "echo", state: "ready", sessions: 1, pid: expect.any(Number) },
    ]);
    expect((await eve.call("GET", "/agents")).body.processes).toEqual([]);
    expect((await eve.call("GET", "/agents/echo/logs")).body).toEqual({ logs: [] });
    expect((await eve.call("POST", "/agents/echo/restart")).body).toEqual({ ended: 0, closing: 0 });
    expect((await ada.call("GET", "/agents")).body.processes).toMatchObject([{ state: "ready" }]);
  });

  it("P10: have room for a few who trace, and again when one has left", async () => {
    const people = await People.open();
    const ada = await people.person("ada", "owner");
    const leaving = Array.from({ length: AGENT_TRACES_MAX }, () => new AbortController());
    const trace = async (signal: AbortSignal) => {
      const { headers } = ada;
      const answer = await fetch(`${people.world.url}/agents/trace`, { headers, signal });
      return answer.status;
    };
    for (const { signal } of leaving) expect(await trace(signal)).toBe(200);
    const further = () => trace(AbortSignal.timeout(10_000));
    expect(await further()).toBe(429);
    leaving[0]?.abort();
    await expect.poll(further).toBe(200);
  });

  it("are in the audit: who read what agents and people say, and who restarted one", async () => {
    const people = await People.open();
    const ada = await people.person("ada", "owner");
    await ada.call("GET", "/agents/echo/logs");
    await ada.call("POST", "/agents/echo/restart");
    expect((await ada.call("GET", "/agents/nobody/logs")).status).toBe(400);
    expect((await ada.call("POST", "/agents/nobody/restart")).status).toBe(400);
    const leaving = new AbortController();
    const { headers } = ada;
    const { signal } = leaving;
    await fetch(`${people.world.url}/agents/trace`, { headers, signal });
    leaving.abort();
    const acts = "agents_traced,agent_logs_read,agent_restarted";
    const { body } = await ada.call("GET", `/audit?act=${acts}`);
    const actor = { kind: "client", userId: "ada" };
    expect(body.entries).toMatchObject([
      { act: "agents_traced", actor, accepted: true, details: {} },
      { act: "agent_restarted", actor, accepted: true, details: { agent: "echo" } },
      { act: "agent_logs_read", actor, accepted: true, details: { agent: "echo" } },
    ]);
  });
});

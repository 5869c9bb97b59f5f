import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { AgentListener, AgentSession, Agents } from "../../agent/agent.ts";
import { parseClientId, type SessionId } from "../../core/id.ts";
import { fail, type Result } from "../../core/result.ts";
import type { Command, CommandData } from "../../core/session/command.ts";
import type { SessionStore } from "../../store/index.ts";
import { createSession } from "../actor/open.ts";
import { AWAY, altered } from "../altered-store.fixture.ts";
import { LiveSession } from "../live.ts";
import { SessionRegistry } from "../registry.ts";
import { ANYBODY, promptOf, SERVER, Stage, TENANT, value } from "../stage.fixture.ts";
import { CREATION } from "../world.fixture.ts";

const MAKER = { ...ANYBODY, clientId: parseClientId("maker") ?? expect.fail() };
const BOB = parseClientId("bob") ?? expect.fail();
const REFUSED = { setting: "mode", value: "plan", reason: "it has no modes" } as const;

type Connect = (listener: AgentListener) => Promise<Result<AgentSession>>;
type Act = { [Type in Command["type"]]: { type: Type } & CommandData[Type] }[Command["type"]];

/** A registry whose agents come or do not come as the test says. */
async function open(connect: Connect, wrap = (store: SessionStore) => store) {
  const stage = await Stage.open({ wrap });
  const agents: Agents = { ...stage.world.agents, connect: (_, listener) => connect(listener) };
  const world = { ...stage.world, agents };
  const deleted: SessionId[] = [];
  const options = {
    join: () => [{}] as const,
    isWatched: () => false,
    unmade: ({ key }: Pick<LiveSession, "key">) => void deleted.push(key.sessionId),
  };
  const registry = new SessionRegistry(world, options);
  const request = (scope: "single" | "thread" = "thread") => ({
    key: { tenantId: TENANT, sessionId: world.ids.session() },
    creation: { ...CREATION, workspaceCwd: stage.folder, scope },
    actor: MAKER,
    registersMaker: true,
  });
  const listed = async () => {
    const page = await world.store.list(TENANT, {}, { limit: 10, cursor: null });
    return value(page).sessions.map(({ sessionId }) => sessionId);
  };
  /** What a server leaves that is killed after the first commit, and after what came then. */
  const killed = async (made: ReturnType<typeof request>, ...acts: readonly Act[]) => {
    const live = new LiveSession(world, value(await createSession(world, made)), {
      ...options,
      released: () => {},
    });
    for (const act of acts) {
      const actor = act.type === "attach" ? { ...ANYBODY, clientId: act.clientId } : SERVER;
      const { refusal } = await live.submit({ ...act, atMs: world.clock.nowMs(), actor });
      expect(refusal).toBeNull();
    }
    await live.abandon();
    return made.key;
  };
  return { world, registry, request, listed, killed, deleted };
}

const NEVER: Connect = () => new Promise(() => {});

type Fate = PromiseWithResolvers<"stored" | "away">;

const fate = (): Fate => Promise.withResolvers();

/**
 * A store whose next commits wait for what the test says of each. Those that come after share the
 * last of these fates, until the session is opened again.
 */
function unreliable() {
  let fates: Fate[] = [];
  const wrap = (store: SessionStore) =>
    altered(store, {
      commit: async (...args) => {
        const fate = fates.length > 1 ? fates.shift() : fates[0];
        return (await fate?.promise) === "away" ? AWAY : store.commit(...args);
      },
      open: async (...args) => {
        fates = [];
        return store.open(...args);
      },
    });
  const expecting = (...next: Fate[]) => {
    fates = next;
  };
  /** Resolves when as many commits have not come yet, or share the last fate. */
  const left = (count: number) => expect.poll(() => fates.length).toBe(count);
  return { wrap, expecting, left };
}

describe("a create that is refused", () => {
  it("P5: leaves nothing, whatever its agent said before it failed", async () => {
    const { registry, request, listed, deleted } = await open(async (listener) => {
      await listener.update({ sessionUpdate: "session_info_update", title: "Soon" });
      await listener.update({ sessionUpdate: "available_commands_update", availableCommands: [] });
      return fail("agent_unknown", { agent: "echo" });
    });
    const made = request();
    expect(await registry.create(made)).toMatchObject({ refusal: { code: "agent_unknown" } });
    expect(await listed()).toEqual([]);
    expect(deleted).toEqual([made.key.sessionId]);
  });

  it("P1: leaves the session to another client that was told that it is there", async () => {
    const failing = Promise.withResolvers<Result<AgentSession>>();
    const { registry, request, listed, world } = await open(() => failing.promise);
    const made = request();
    const creating = registry.create(made);
    await expect.poll(() => registry.peek(made.key)).not.toBeNull();
    const live = registry.peek(made.key) ?? expect.fail();
    const atMs = world.clock.nowMs();
    const attach = { type: "attach", clientId: BOB, idle: [], atMs, actor: ANYBODY } as const;
    expect((await live.submit(attach)).refusal).toBeNull();
    failing.resolve(fail("agent_unknown", { agent: "echo" }));
    expect(await creating).toMatchObject({ refusal: { code: "agent_unknown" } });
    expect(await listed()).toEqual([made.key.sessionId]);
  });

  it("is not kept for a client that only left, or was refused", async () => {
    const failing = Promise.withResolvers<Result<AgentSession>>();
    const { registry, request, listed, world } = await open(() => failing.promise);
    const made = request();
    const creating = registry.create(made);
    await expect.poll(() => registry.peek(made.key)).not.toBeNull();
    const live = registry.peek(made.key) ?? expect.fail();
    const by = { atMs: world.clock.nowMs(), actor: MAKER };
    const left = await live.submit({ ...by, type: "detach", clientId: MAKER.clientId });
    expect(left.refusal).toBeNull();
    const budget = await live.submit({ ...by, type: "set_budget", budgetMicro: -1 });
    expect(budget.refusal).not.toBeNull();
    failing.resolve(fail("agent_unknown", { agent: "echo" }));
    expect(await creating).toMatchObject({ refusal: { code: "agent_unknown" } });
    expect(await listed()).toEqual([]);
  });
});

describe("a create that is refused while its store fails", () => {
  it("P2: keeps the session with a prompt that came in the same moment", async () => {
    const { wrap, expecting, left } = unreliable();
    const exited = Promise.withResolvers<Result<AgentSession>>();
    const answers = [exited.promise];
    const connect = async () => answers.shift() ?? fail("agent_unknown", { agent: "echo" });
    const { registry, request, listed, world } = await open(connect, wrap);
    const made = request();
    const creating = registry.create(made);
    await expect.poll(() => registry.peek(made.key)).not.toBeNull();
    const live = registry.peek(made.key) ?? expect.fail();
    const [exit, admission, later] = [fate(), fate(), fate()];
    expecting(exit, admission, later);
    exited.resolve(fail("agent_exited_early", { exit: "code 1" }));
    await left(2);
    const prompt = promptOf(live, "say hello");
    const admitting = live.submit(prompt);
    await left(1);
    exit.resolve("stored");
    await live.until(({ connection }) => connection.sessionState === "error");
    // By now its making is being undone, and the prompt is decided but not answered.
    await setImmediate();
    admission.resolve("stored");
    expect((await admitting).refusal).toBeNull();
    later.resolve("away");
    expect(await creating).toMatchObject({ refusal: { code: "agent_exited_early" } });
    expect(registry.peek(made.key)).toBe(live);
    expect(await listed()).toEqual([made.key.sessionId]);
    await live.until(({ queue }) => queue.length === 0);
    const page = await world.store.readEvents(made.key, { after: 0, limit: 100 });
    const verdicts = value(page)
      .events.map(({ text }) => JSON.parse(text))
      .filter(({ data, type }) => data.promptId === prompt.promptId && type.startsWith("turn_"));
    expect(verdicts).toMatchObject([{ type: "turn_error", data: { code: "agent_unavailable" } }]);
  });

  it("P5: leaves nothing once the store is back, if no client has come", async () => {
    const { wrap, expecting, left } = unreliable();
    const exited = Promise.withResolvers<Result<AgentSession>>();
    const { registry, request, listed, deleted } = await open(() => exited.promise, wrap);
    const made = request();
    const creating = registry.create(made);
    await expect.poll(() => registry.peek(made.key)).not.toBeNull();
    const [exit, later] = [fate(), fate()];
    expecting(exit, later);
    exited.resolve(fail("agent_exited_early", { exit: "code 1" }));
    await left(1);
    exit.resolve("stored");
    later.resolve("away");
    expect(await creating).toMatchObject({ refusal: { code: "agent_exited_early" } });
    expect(await listed()).toEqual([]);
    expect(deleted).toEqual([made.key.sessionId]);
    expect(registry.all).toEqual([]);
  });
});

describe("a create whose server was killed before its agent came", () => {
  it("P5: is deleted by who opens it, whatever the agent had said", async () => {
    const { registry, request, listed, killed, deleted } = await open(NEVER);
    const refused = { type: "agent_setting_refused", data: REFUSED } as const;
    const key = await killed(request(), { type: "announce", announcement: refused });
    expect(await registry.get(key)).toMatchObject({ refusal: { code: "session_not_found" } });
    expect(await listed()).toEqual([]);
    expect(deleted).toEqual([key.sessionId]);
  });

  it.each([
    ["another client has joined", [{ type: "attach", clientId: BOB, idle: [] }]],
    ["its maker has loaded it", [{ type: "attach", clientId: MAKER.clientId, idle: [] }]],
    ["a client has set it to something", [{ type: "set_budget", budgetMicro: 5 }]],
  ] as const)("P1: stays where %s", async (_, acts) => {
    const { registry, request, listed, killed } = await open(NEVER);
    const key = await killed(request(), ...acts);
    expect((await registry.get(key)).ok).toBe(true);
    expect(await listed()).toEqual([key.sessionId]);
  });

  it("is not joined as the shared session: another one is made", async () => {
    const { registry, request, listed, killed } = await open(NEVER);
    await killed(request("single"));
    const made = request("single");
    void registry.create(made);
    await expect.poll(listed).toEqual([made.key.sessionId]);
  });
});

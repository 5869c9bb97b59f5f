import { afterEach, describe, expect, it } from "vitest";
import { parseTenantId } from "../core/id.ts";
import {
  EXTENSION_STEP_MS_MAX,
  EXTENSIONS_ACTIVE_MAX,
  EXTENSIONS_UP_MS_MAX,
} from "../core/limits.ts";
import { fail, ok } from "../core/result.ts";
import { ManualClock } from "../platform/manual-clock.fixture.ts";
import type { AbsentExtension, EnabledExtension } from "./catalog.ts";
import { manifestOf } from "./manifest.fixture.ts";
import {
  type OwnedSlot,
  SessionExtensions,
  type SessionExtensionsOptions,
} from "./session-extensions.ts";
import { ExtensionThreads } from "./thread/threads.ts";

const running: SessionExtensions[] = [];

afterEach(async () => {
  for (const extensions of running.splice(0)) await extensions.takeDown();
});

const TENANT = parseTenantId("acme") ?? expect.fail();
const THREADS = new ExtensionThreads();

const NEW = { sessionId: "s1", workspaceCwd: "/work", isResumed: false };

const SLOT = { slotVersion: "1.0.0", schema: {}, driftPolicy: "reject" } as const;

/** Keeps how often it was told of a plan, and denies what it is configured with. */
const COUNTER = `export default ({ config, slots, log }) => ({
  activate: () => log("up"),
  deactivate: () => log("down"),
  event: () => {
    if (config.fails) throw new Error("no more plans");
    slots.set((slots.get() ?? 0) + 1);
  },
  hooks: { before_tool_call: ({ title }) =>
    title === config.denies ? { verdict: "deny", reason: config.denies } : null },
});`;

function enabled(
  id: string,
  config: EnabledExtension["config"] = {},
  change: Partial<EnabledExtension> = {},
): EnabledExtension {
  const manifest = manifestOf(id, {
    stateSlot: SLOT,
    hooks: ["before_tool_call"],
    events: ["plan"],
  });
  const module = `data:text/javascript,${encodeURIComponent(COUNTER)}`;
  return {
    manifest,
    isCritical: false,
    config,
    code: "",
    module: async () => ok(module),
    ...change,
  };
}

const UNTRUSTED = { extension: "d", folder: "/x", hash: "1" };

/** One that was to be there and is not trusted. */
function absent(id: string, isCritical = false): AbsentExtension {
  const why = { code: "extension_untrusted", details: UNTRUSTED } as const;
  return { id, why, isCritical, hooks: ["before_turn"] };
}

function slotOf(owner: string, value: unknown, version = "1.0.0"): OwnedSlot {
  return { owner, version, payload: new TextEncoder().encode(JSON.stringify(value)) };
}

/** A session with these extensions, brought up; what they log is written down. */
async function sessionWith(
  all: readonly EnabledExtension[],
  change: Partial<SessionExtensionsOptions> = {},
) {
  const logged: string[] = [];
  const extensions = new SessionExtensions({
    session: { sessionId: "s1", workspaceCwd: "/work", isResumed: true },
    enabled: all,
    refused: [],
    slots: [],
    damaged: [],
    clock: { after: () => () => {} },
    startThread: THREADS.startFor(TENANT),
    redact: (text) => text,
    noted: (id, { text }) => logged.push(`${id} ${text}`),
    told: () => {},
    dropped: (id, { code }) => logged.push(`${id} dropped: ${code}`),
    ...change,
  });
  running.push(extensions);
  return { extensions, logged, up: await extensions.bringUp() };
}

describe("a session with extensions", () => {
  it("has the strictest verdict of all, and their slots in its snapshots", async () => {
    const { extensions, logged } = await sessionWith(
      [enabled("a"), enabled("b", { denies: "rm" })],
      {
        slots: [slotOf("a", 6)],
      },
    );
    const ask = (title: string) => extensions.ask("before_tool_call", { title });
    expect(await ask("ls")).toBeNull();
    expect(await ask("rm")).toEqual({ verdict: "deny", extension: "b", reason: "rm" });
    extensions.tell("plan", {});
    extensions.tell("agent_message_chunk", {});
    await extensions.settled();
    const { changes } = extensions;
    expect(changes.slots).toEqual([slotOf("a", 7), slotOf("b", 1)]);
    changes.isStored();
    expect(extensions.changes.slots).toEqual([]);

    // What a turn did that came to nothing is not there for the next one.
    extensions.turnBegins();
    extensions.tell("plan", {});
    await extensions.settled();
    extensions.takeBack();
    expect(extensions.changes.slots).toEqual([]);
    extensions.tell("plan", {});
    await extensions.settled();
    expect(extensions.changes.slots).toEqual([slotOf("a", 8), slotOf("b", 2)]);
    expect(await extensions.takeDown()).toEqual([]);
    expect(logged).toEqual(["a up", "b up", "b down", "a down"]);
  });

  it("P6: goes on without what is missing, and lists each with its reason", async () => {
    const { extensions, up } = await sessionWith(
      [
        enabled("a"),
        enabled("b", {}, { module: async () => fail("extension_untrusted", UNTRUSTED) }),
        enabled("c"),
        enabled("drifted"),
      ],
      {
        refused: [absent("d")],
        slots: [slotOf("d", 1), slotOf("gone", 1), slotOf("drifted", 1, "2.0.0")],
        damaged: ["c", "e"],
      },
    );
    expect(up.ok).toBe(true);
    const said = new Map(extensions.skipped.map(({ name, reason }) => [name, reason]));
    expect([...said.keys()]).toEqual(["b", "c", "d", "drifted", "e", "gone"]);
    expect(said.get("b")).toContain("is new, or has changed since it was trusted");
    expect(said.get("c")).toContain("it is damaged");
    expect(said.get("drifted")).toContain("has version 2.0.0, not 1.0.0; it is kept");
    expect(said.get("gone")).toBe("its owner is not here; it is kept as it is");
    // None of their slots is written or removed.
    expect(extensions.changes).toMatchObject({ slots: [], removed: [] });
    // A guard that is not there has not passed anything.
    expect(await extensions.ask("before_turn", {})).toMatchObject({ extension: "d" });
    expect(await extensions.ask("before_tool_call", { title: "ls" })).toEqual({
      verdict: "ask",
      extension: "b",
      reason: "it is not here to judge this",
    });
  });

  it("P6: leaves out one that fails later; its slot stays as it was stored", async () => {
    const { extensions, logged } = await sessionWith(
      [enabled("a", { fails: true }), enabled("b")],
      { slots: [slotOf("a", 6)] },
    );
    extensions.tell("plan", {});
    await extensions.settled();
    expect(extensions.skipped).toMatchObject([{ name: "a" }]);
    expect(logged).toContain("a dropped: extension_failed");
    expect(extensions.changes.slots).toEqual([slotOf("b", 1)]);
    expect(await extensions.ask("before_tool_call", {})).toMatchObject({ verdict: "ask" });
  });

  it("takes back what a turn did, and not what was kept before it", async () => {
    const { extensions } = await sessionWith([enabled("a")]);
    extensions.tell("plan", {});
    await extensions.settled();
    extensions.turnBegins();
    extensions.tell("plan", {});
    await extensions.settled();
    extensions.takeBack();
    expect(extensions.changes.slots).toEqual([slotOf("a", 1)]);
  });

  it("P6: that was stored goes on without a critical one", async () => {
    const module = async () => fail("extension_untrusted", UNTRUSTED);
    const all = [enabled("a"), enabled("b", {}, { isCritical: true, module })];
    const { extensions, up } = await sessionWith(all, { refused: [absent("d", true)] });
    expect(up.ok).toBe(true);
    expect(extensions.skipped.map(({ name }) => name)).toEqual(["b", "d"]);
  });

  it("is not made without a critical one that cannot be loaded", async () => {
    const { up, logged } = await sessionWith([enabled("a")], {
      session: NEW,
      refused: [absent("d", true)],
    });
    expect(up).toMatchObject({ ok: false, refusal: { code: "extension_untrusted" } });
    expect(logged).toEqual([]);
  });

  it("P10: has no more of the server's threads than its tenant may have", async () => {
    const few = new ExtensionThreads(3);
    const startThread = few.startFor(TENANT);
    const all = ["a", "b", "c", "d"].map((id) => enabled(id));
    const { extensions, up } = await sessionWith(all, { startThread });
    expect(up.ok).toBe(true);
    const reason = 'The extension "d" has no thread of 3: close other sessions, or enable fewer.';
    expect(extensions.skipped.at(-1)).toEqual({ name: "d", reason });
    const left = 4 - extensions.skipped.length;
    const second = await sessionWith(all, { startThread });
    expect(second.extensions.skipped).toHaveLength(4);
    await extensions.takeDown();
    // They are free again as soon as they are gone.
    const third = await sessionWith(all, { startThread });
    expect(4 - third.extensions.skipped.length).toBe(left);
  });

  it("P10: has some of them however many another tenant wants", async () => {
    const few = new ExtensionThreads(6);
    const all = ["a", "b", "c", "d"].map((id) => enabled(id));
    for (let sessions = 0; sessions < 3; sessions += 1) {
      await sessionWith(all, { startThread: few.startFor(TENANT) });
    }
    const other = parseTenantId("other") ?? expect.fail();
    const { extensions } = await sessionWith(all, { startThread: few.startFor(other) });
    expect(extensions.skipped.length).toBeLessThan(4);
  });

  it("P10: is over at once: what has not come up by then does not", async () => {
    const { promise: loaded, resolve } = Promise.withResolvers<void>();
    const slow = async () => {
      await loaded;
      return enabled("a").module();
    };
    const making = sessionWith([enabled("a", {}, { module: slow }), enabled("b")]);
    const extensions = running.at(-1) ?? expect.fail();
    const down = extensions.takeDown();
    resolve();
    expect(await down).toEqual([]);
    const { logged } = await making;
    expect(logged).toEqual(["a up", "a down"]);
  });

  it("is not made without a critical one, and nothing is left running", async () => {
    const gone = async () => fail("extension_untrusted", { extension: "b", folder: "", hash: "" });
    const { extensions, up, logged } = await sessionWith(
      [enabled("a"), enabled("b", {}, { isCritical: true, module: gone })],
      { session: NEW },
    );
    expect(up).toMatchObject({ ok: false, refusal: { code: "extension_untrusted" } });
    expect(logged).toEqual(["a up", "a down"]);
    expect(extensions.changes.slots).toEqual([]);
  });

  it("P10: waits only so long for sixteen that hang, one of them critical", async () => {
    for (const session of [NEW, { ...NEW, isResumed: true }]) {
      const clock = new ManualClock();
      const begun: string[] = [];
      const hanging = Array.from({ length: EXTENSIONS_ACTIVE_MAX }, (_, n) => {
        const id = `e${100 + n}`;
        const module = async () => {
          begun.push(id);
          return ok("data:text/javascript,for(;;);");
        };
        return enabled(id, {}, { isCritical: n === EXTENSIONS_ACTIVE_MAX - 1, module });
      });
      const coming = sessionWith(hanging, { clock, session });
      for (const count of [1, 2]) {
        await expect
          .poll(() => [begun.length, clock.running(EXTENSION_STEP_MS_MAX)])
          .toEqual([count, 1]);
        clock.advance(EXTENSION_STEP_MS_MAX);
      }
      const { extensions, up } = await coming;
      expect(clock.nowMs()).toBe(EXTENSIONS_UP_MS_MAX);
      expect(begun).toEqual(["e100", "e101"]);
      const late = "all extensions of the session together took longer than 20000 ms";
      expect(extensions.skipped).toHaveLength(EXTENSIONS_ACTIVE_MAX);
      for (const { reason } of extensions.skipped.slice(1)) expect(reason).toContain(late);
      expect(up.ok).toBe(session.isResumed);
      if (!up.ok)
        expect(up.refusal).toMatchObject({ details: { extension: "e115", reason: late } });
    }
  });

  it("P6: goes on where no thread can be started", async () => {
    const session = { sessionId: "s1", workspaceCwd: "/work", isResumed: true };
    // What cannot be copied stands for a system without room for another thread.
    const { extensions, up } = await sessionWith([enabled("a")], {
      session: Object.assign(session, { now: () => 1 }),
    });
    expect(up.ok).toBe(true);
    expect(extensions.skipped).toMatchObject([
      { name: "a", reason: expect.stringContaining("failed in make") },
    ]);
  });

  it("asks and tells nothing if it has none", async () => {
    const { extensions, up } = await sessionWith([]);
    expect(up.ok).toBe(true);
    expect(extensions.has("before_tool_call")).toBe(false);
    expect(await extensions.ask("before_tool_call", {})).toBeNull();
    expect(extensions.skipped).toEqual([]);
  });
});

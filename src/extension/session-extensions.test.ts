import { afterEach, describe, expect, it } from "vitest";
import { fail, ok } from "../core/result.ts";
import { manifestOf } from "./manifest.fixture.ts";
import {
  type EnabledExtension,
  type OwnedSlot,
  SessionExtensions,
  type SessionExtensionsOptions,
} from "./session-extensions.ts";

const running: SessionExtensions[] = [];

afterEach(async () => {
  for (const extensions of running.splice(0)) await extensions.takeDown();
});

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
  return { manifest, isCritical: false, config, module: async () => ok(module), ...change };
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
    hasSecret: () => false,
    noted: (id, { text }) => logged.push(`${id} ${text}`),
    told: () => {},
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
    const untrusted = { extension: "d", folder: "/x", hash: "1" };
    const { extensions, up } = await sessionWith(
      [
        enabled("a"),
        enabled("b", {}, { module: async () => fail("extension_untrusted", untrusted) }),
        enabled("c"),
        enabled("drifted"),
      ],
      {
        refused: [{ id: "d", why: { code: "extension_untrusted", details: untrusted } }],
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
    expect(await extensions.ask("before_tool_call", { title: "ls" })).toEqual({
      verdict: "ask",
      extension: "b",
      reason: "it is not here to judge this",
    });
  });

  it("P6: leaves out one that fails later; its slot stays as it was stored", async () => {
    const { extensions } = await sessionWith([enabled("a", { fails: true }), enabled("b")], {
      slots: [slotOf("a", 6)],
    });
    extensions.tell("plan", {});
    await extensions.settled();
    expect(extensions.skipped).toMatchObject([{ name: "a" }]);
    expect(extensions.changes.slots).toEqual([slotOf("b", 1)]);
    expect(await extensions.ask("before_tool_call", {})).toMatchObject({ verdict: "ask" });
  });

  it("is not made without a critical one, and nothing is left running", async () => {
    const gone = async () => fail("extension_untrusted", { extension: "b", folder: "", hash: "" });
    const { extensions, up, logged } = await sessionWith([
      enabled("a"),
      enabled("b", {}, { isCritical: true, module: gone }),
    ]);
    expect(up).toMatchObject({ ok: false, refusal: { code: "extension_untrusted" } });
    expect(logged).toEqual(["a up", "a down"]);
    expect(extensions.changes.slots).toEqual([]);
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

// What extensions are asked and told of in a session, with real threads and a real agent.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Creation } from "../../core/session/state.ts";
import type { HookName } from "../../extension/hook.ts";
import { type Hand, promptOf, Stage, value } from "../stage.fixture.ts";
import { TestExtensions } from "./extensions.fixture.ts";

/** A session with one extension, which has these hooks. */
async function hooked(
  hooks: Partial<Record<HookName, string>>,
  creation: Partial<Creation> = {},
): Promise<{ hand: Hand; stage: Stage; extensions: TestExtensions }> {
  const extensions = new TestExtensions();
  const functions = Object.entries(hooks).map(([name, body]) => `${name}: (facts) => { ${body} }`);
  const names = Object.keys(hooks) as HookName[];
  extensions.add("guard", `return { hooks: { ${functions.join(", ")} } };`, { hooks: names });
  const stage = await Stage.open({ extensions: extensions.world });
  return { stage, extensions, hand: await stage.created(creation) };
}

function dataOf(hand: Hand, type: string) {
  return hand.events.flatMap((event) => (event.type === type ? [event.data] : []));
}

/** What is stored in the slot of an owner; null if nothing is. */
async function slotOf({ world }: Stage, { live }: Hand, owner: string): Promise<unknown> {
  const { slots } = value(await world.store.readSlots(live.key));
  const slot = slots.find((one) => one.owner === owner);
  return slot === undefined ? null : JSON.parse(Buffer.from(slot.payload).toString());
}

const DENY_SECRETS = `const path = facts.paths.find((one) => one.endsWith("/.env"));
  return path && { verdict: "deny", reason: path + " is closed" };`;
const YOLO = { securityMode: "yolo" } as const;

describe("a guard before tool calls", () => {
  it("refuses what the server would have done unasked, and says so in the log", async () => {
    const { hand, stage } = await hooked({ before_tool_call: DENY_SECRETS }, YOLO);
    await hand.turn("write ./.env KEY=1", "write ./a.txt yes");
    expect(existsSync(join(stage.folder, ".env"))).toBe(false);
    expect(existsSync(join(stage.folder, "a.txt"))).toBe(true);
    const path = join(stage.folder, ".env");
    const guard = { verdict: "deny", extension: "guard", reason: `${path} is closed` };
    expect(dataOf(hand, "agent_access")).toMatchObject([
      { access: { path }, allowed: false, by: "extension", guard },
      { allowed: true, by: "security_mode" },
    ]);
    // The agent is told why.
    const why = "an extension of the session does not allow it";
    expect(hand.text).toContain(`${why}: ${path} is closed`);
  });

  it("refuses what the agent asks for, by a path that climbs, too", async () => {
    const { hand } = await hooked({ before_tool_call: DENY_SECRETS }, YOLO);
    await hand.turn("ask kind=edit path=src/../.env");
    expect(dataOf(hand, "permission_decided")).toMatchObject([
      { gate: "extension", allowed: false, guard: { extension: "guard" } },
    ]);
    expect(hand.text).toMatch(/selected reject_once, because \/.*\.env is closed/);
  });

  it("has people asked about what a gate would have allowed", async () => {
    const before_tool_call = `return { verdict: "ask", reason: "look at " + facts.kind };`;
    const { hand } = await hooked({ before_tool_call }, YOLO);
    const verdict = hand.turn("ask kind=execute command=ls");
    expect(await hand.asked()).toMatchObject({
      guard: { verdict: "ask", extension: "guard", reason: "look at execute" },
    });
    await hand.agree();
    await verdict;
    expect(dataOf(hand, "permission_decided")).toEqual([]);
  });

  it("is not asked about what the gates refuse, and cannot allow it", async () => {
    const before_tool_call = "host.slots.set(1); return { verdict: 'pass' };";
    const allowlist = { securityMode: "allowlist", allowlist: [] } as const;
    const { hand, stage } = await hooked({ before_tool_call }, allowlist);
    await hand.turn("ask kind=execute command=ls", "write ./a.txt no");
    expect(dataOf(hand, "permission_decided")).toMatchObject([{ gate: "security_mode" }]);
    expect(dataOf(hand, "agent_access")).toMatchObject([{ by: "security_mode", allowed: false }]);
    expect(await slotOf(stage, hand, "guard")).toBeNull();
  });

  it.each([
    ["throws", "throw new Error('no');"],
    ["answers nonsense", "return { verdict: 'allow' };"],
    ["answers a function", "return { verdict: () => 'pass' };"],
    ["answers a circle", "const a = {}; a.a = a; return a;"],
    ["ends its thread", "process.exit(1);"],
    ["allocates without end", "const all = []; for (;;) all.push(new Array(1e6).fill(1.5));"],
  ])("P6: that %s has not passed: people are asked from then on", async (_, before_tool_call) => {
    const { hand } = await hooked({ before_tool_call }, YOLO);
    const verdict = hand.turn("ask kind=execute command=ls", "ask kind=execute command=ls");
    await hand.agree();
    await hand.stage.until(() => dataOf(hand, "permission_request").length === 2);
    await hand.agree();
    expect(await verdict).toMatchObject({ type: "turn_complete" });
    expect(dataOf(hand, "extension_disabled")).toMatchObject([{ extension: "guard" }]);
    expect(hand.live.skipped).toMatchObject([{ name: "guard" }]);
  });
});

describe("a guard before asks", () => {
  it("refuses what people would be asked, and nothing else", async () => {
    const before_ask = `return { verdict: "deny", reason: "nobody is there" };`;
    const { hand } = await hooked({ before_ask });
    await hand.turn("ask kind=execute command=ls");
    expect(dataOf(hand, "permission_request")).toEqual([]);
    expect(dataOf(hand, "permission_decided")).toMatchObject([
      { gate: "extension", guard: { reason: "nobody is there" } },
    ]);
    const { hand: yolo } = await hooked({ before_ask }, YOLO);
    await yolo.turn("ask kind=execute command=ls");
    expect(dataOf(yolo, "permission_decided")).toMatchObject([{ gate: "security_mode" }]);
  });

  it("does not stand between people and a question of the agent", async () => {
    const { hand } = await hooked({ before_ask: `return { verdict: "deny" };` });
    const verdict = hand.turn("question what now?");
    await hand.asked();
    await hand.say("cancel", {});
    await verdict;
  });
});

/** A prompt that begins only when it is next: its extensions are asked before. */
async function queued(hand: Hand, ...script: readonly string[]) {
  const { start: _, ...prompt } = promptOf(hand.live, ...script);
  expect((await hand.live.submit(prompt)).refusal).toBeNull();
  return hand.verdict(prompt.promptId);
}

describe("an extension before turns", () => {
  it("P2: gives a prompt its verdict without a turn, and lets the next one begin", async () => {
    const deny = `{ verdict: "deny", reason: "no" }`;
    const before_turn = `return facts.text.includes("bad") ? ${deny} : null;`;
    const { hand } = await hooked({ before_turn });
    expect(await queued(hand, "say bad")).toMatchObject({
      type: "turn_error",
      data: {
        code: "prompt_denied",
        message: 'The extension "guard" does not let this prompt begin: no.',
      },
    });
    expect(await queued(hand, "say good")).toMatchObject({ type: "turn_complete" });
    expect(hand.text).toBe("good");
  });

  it("has the agent told something in front of the prompt, and the log says who did", async () => {
    const before_turn = `return { verdict: "pass", context: "Your plan: none" };`;
    const { hand } = await hooked({ before_turn });
    await queued(hand, "recall");
    expect(hand.text).toContain("Your plan: none");
    expect(dataOf(hand, "session_lifecycle")).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ told: [{ extension: "guard", text: "Your plan: none" }] }),
      ]),
    );
  });

  it.each([
    ["fails", "throw new Error('no');"],
    ["wants people to be asked", "return { verdict: 'ask' };"],
  ])("P6: lets a turn begin if it %s", async (_, before_turn) => {
    const { hand } = await hooked({ before_turn });
    expect(await queued(hand, "say on")).toMatchObject({ type: "turn_complete" });
    expect(await queued(hand, "say and on")).toMatchObject({ type: "turn_complete" });
  });
});

describe("an extension that follows", () => {
  it("P10: keeps up with an agent that says much in one breath", async () => {
    const extensions = new TestExtensions();
    const body = "return { event: () => slots.set((slots.get() ?? 0) + 1) };";
    extensions.add("reader", body, { events: ["agent_message_chunk"] });
    const stage = await Stage.open({ extensions: extensions.world });
    const hand = await stage.created();
    await hand.turn("chunks 3000 20");
    expect(dataOf(hand, "extension_disabled")).toEqual([]);
    expect(await slotOf(stage, hand, "reader")).toBe(3000);
  });

  it("is told how turns, tool calls and asks ended", async () => {
    const keep = (what: string) =>
      `host.slots.set([...(host.slots.get() ?? []), { ${what}, is: facts.kind ?? facts.text }]);`;
    const { hand, stage } = await hooked({
      after_turn: keep("turn: facts.outcome"),
      after_tool_call: keep("call: facts.status, paths: facts.paths.length"),
      after_ask: keep("ask: facts.answer"),
    });
    const verdict = hand.turn("tool t1 kind=edit path=./a.ts", "ask kind=execute command=ls");
    await hand.agree();
    await verdict;
    expect(await slotOf(stage, hand, "guard")).toEqual([
      { call: "completed", paths: 1, is: "edit" },
      { ask: "allowed", is: "execute" },
      { turn: "completed", is: "tool t1 kind=edit path=./a.ts\nask kind=execute command=ls" },
    ]);
  });
});

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import type { Refusal } from "../core/error.ts";
import {
  EXTENSION_CALLS_WAITING_MAX,
  EXTENSION_MEMORY_LOOK_MS,
  EXTENSION_REASON_CHARS_MAX,
  EXTENSION_STEP_MS_MAX,
  EXTENSION_TOLD_CHARS_MAX,
  EXTENSION_WAITING_CHARS_MAX,
  EXTENSION_WORK_MS_MAX,
} from "../core/limits.ts";
import { ok } from "../core/result.ts";
import { type Clock, SYSTEM_CLOCK } from "../platform/clock.ts";
import { ManualClock } from "../platform/manual-clock.fixture.ts";
import { type ExtensionInstance, type InstanceOptions, makeInstance } from "./instance.ts";
import { manifestOf } from "./manifest.fixture.ts";
import type { ThreadNote } from "./thread/messages.ts";
import { ExtensionThread } from "./thread/thread.ts";

const SLOT = { slotVersion: "2.0.0", schema: { type: "object" }, driftPolicy: "migrate" } as const;
const MANIFEST = manifestOf("notes", { stateSlot: SLOT });
const HOOK = "before_tool_call";

/** The address of a module with this source. */
function moduleOf(source: string): string {
  return `data:text/javascript,${encodeURIComponent(source)}`;
}

/** No deadline is due on it, however slow the machine is; memory is looked at soon. */
const PATIENT: Pick<Clock, "after"> = {
  after: (ms, act) => (ms === EXTENSION_MEMORY_LOOK_MS ? SYSTEM_CLOCK.after(20, act) : () => {}),
};

const running: ExtensionInstance[] = [];

afterEach(async () => {
  for (const instance of running.splice(0)) {
    instance.end("the test is over");
    await instance.gone;
  }
});

/** Makes an extension of a source; its drops and notes are written down. */
async function made(source: string, change: Partial<InstanceOptions> = {}) {
  const dropped: Refusal[] = [];
  const notes: ThreadNote[] = [];
  const answer = await makeInstance({
    manifest: source.includes(HOOK) ? { ...MANIFEST, hooks: [HOOK] } : MANIFEST,
    module: moduleOf(source),
    config: {},
    session: { sessionId: "s1", workspaceCwd: "/work", isResumed: false },
    stored: null,
    clock: PATIENT,
    startThread: (start, listener) => ok(new ExtensionThread(start, listener)),
    redact: (text) => text.replaceAll("hunter22", "[gone]"),
    slotBytesMax: () => 1_000,
    noted: (note) => notes.push(note),
    dropped: (why) => dropped.push(why),
    ...change,
  });
  if (answer.ok) running.push(answer.value);
  return { answer, dropped, notes };
}

/** The same for one that is made without a fault. */
async function instanceOf(source: string, change: Partial<InstanceOptions> = {}) {
  const { answer, dropped, notes } = await made(source, change);
  if (!answer.ok) expect.unreachable(JSON.stringify(answer.refusal));
  return { instance: answer.value, dropped, notes };
}

const failed = (step: string, reason: string) => ({
  code: "extension_failed",
  details: { extension: "notes", step, reason },
});

const old = { version: "1.0.0", payload: new TextEncoder().encode('{"n":1}') };

describe("an extension in its thread", () => {
  it("has its configuration, its session and its slot, and nothing else", async () => {
    const { instance } = await instanceOf(
      `import { parentPort, workerData } from "node:worker_threads";
      export default ({ id, config, session, slots }) => ({
        init() { parentPort?.postMessage("past the port"); },
        activate() {
          const env = Object.keys(process.env).length;
          slots.set({ id, config, session, env, port: "port" in workerData });
        },
      });`,
      { config: { paths: ["/etc"] } },
    );
    await instance.take("init");
    await instance.take("activate");
    expect(JSON.parse(instance.slot?.text ?? "")).toEqual({
      id: "notes",
      config: { paths: ["/etc"] },
      session: { sessionId: "s1", workspaceCwd: "/work", isResumed: false },
      env: 0,
      port: false,
    });
  });

  it("may be written in TypeScript, as a file", async () => {
    const folder = await mkdtemp(join(tmpdir(), "extension-"));
    const file = join(folder, "index.ts");
    await writeFile(
      file,
      `import type { MakeExtension } from "fermata/extension";
      const make: MakeExtension = ({ slots }) => ({ init: () => slots.set({ typed: true }) });
      export default make;`,
    );
    const { instance } = await instanceOf("", { module: pathToFileURL(file).href });
    await instance.take("init");
    expect(instance.slot?.text).toBe('{"typed":true}');
    await rm(folder, { recursive: true });
  });

  it("answers hooks and is told of events, one after the other", async () => {
    const { instance, notes } = await instanceOf(
      `export default ({ log }) => ({
        hooks: { before_tool_call: async ({ title }) => {
          if (title === "late") await new Promise((go) => setTimeout(go, 5));
          log(title);
          return title === "rm" ? { verdict: "deny", reason: "no", more: 1 } : undefined;
        } },
        event: ({ type }) => log(type),
      });`,
    );
    const answers = await Promise.all([
      instance.hook("before_tool_call", { title: "late" }),
      instance.hook("before_tool_call", { title: "rm" }),
      instance.tell({ type: "plan" }),
    ]);
    expect(answers.slice(0, 2)).toEqual([
      { ok: true, value: { verdict: "pass" } },
      { ok: true, value: { verdict: "deny", reason: "no" } },
    ]);
    expect(notes.map(({ text }) => text)).toEqual(["late", "rm", "plan"]);
  });

  it.each<[string, string, string]>([
    ["cannot be read", "this is no module", "Unexpected identifier 'is'"],
    ["throws when it is loaded", "throw new Error('no')", "no"],
    ["has no default export", "export const x = 1", "it has no default export that is a function"],
    ["makes nothing", "export default () => 1", "its default export answers no extension"],
    ["ends its thread", "export default () => process.exit(3)", "its thread ended with code 3"],
  ])("is not made if its module %s", async (_, source, reason) => {
    const { answer } = await made(source);
    expect(answer).toEqual({ ok: false, refusal: failed("make", reason) });
  });
});

const HOOKED = (body: string) => `
  export default ({ slots, log }) => ({ hooks: { before_tool_call: async () => { ${body} } } });`;

describe("an extension that does what it may not", () => {
  it.each<[string, string, string]>([
    ["throws", "throw new Error('oh')", "oh"],
    ["answers a function", "return () => 1", "what it answers is not valid: "],
    ["answers no verdict", "return { verdict: 'allow' }", "what it answered is no verdict"],
    ["breaks JSON", "JSON.stringify = () => '{'; return null", "what it answered is no verdict"],
    [
      "takes memory without end",
      "const all = []; for (;;) all.push([...'x'.repeat(1e4)])",
      "it took more than 64 MB of memory",
    ],
    [
      "takes buffers without end",
      "const all = []; for (;;) { if (all.length < 99) all.push(Buffer.alloc(1e6, 1)) }",
      "its buffers took more than 67108864 bytes of memory",
    ],
    [
      "fails after it has answered",
      "setTimeout(() => { throw new Error('later') }); return new Promise(() => {})",
      "later",
    ],
  ])("P6, P10: is ended when it %s, and nothing else is", async (_, body, reason) => {
    const { instance, dropped } = await instanceOf(HOOKED(body));
    const answer = await instance.hook("before_tool_call", {});
    expect(answer).toMatchObject({ ok: false, refusal: { code: "extension_failed" } });
    await instance.gone;
    expect(dropped).toMatchObject([{ details: { extension: "notes", step: "before_tool_call" } }]);
    expect(dropped[0]?.details.reason).toContain(reason);
    expect(await instance.hook("before_tool_call", {})).toMatchObject({ ok: false });
  });

  it("does not come up without a function for a hook of its manifest", async () => {
    const { answer } = await made("export default () => ({ hooks: {} });", {
      manifest: { ...MANIFEST, hooks: ["before_ask"] },
    });
    const reason = "its manifest has the hook before_ask, and its module has no such function";
    expect(answer).toEqual({ ok: false, refusal: failed("make", reason) });
  });

  it("is told of hooks that its manifest does not have", async () => {
    const { notes } = await instanceOf("export default () => ({ hooks: { before_ask() {} } });");
    const text = "its hook before_ask is never asked: its manifest has it not";
    expect(notes).toEqual([{ kind: "log", text }]);
  });

  it("P10: is ended in the middle of a loop when it is late", async () => {
    const clock = new ManualClock();
    const { instance, dropped } = await instanceOf(HOOKED("for (;;);"), { clock });
    const answer = instance.hook("before_tool_call", {});
    clock.advance(EXTENSION_WORK_MS_MAX);
    expect(await answer).toEqual({
      ok: false,
      refusal: failed("before_tool_call", "it took longer than 5000 ms"),
    });
    await instance.gone;
    expect(dropped).toHaveLength(1);
  });

  it("P10: is not waited for while its module is loaded", async () => {
    const clock = new ManualClock();
    const making = made("await new Promise(() => {})", { clock });
    await expect.poll(() => clock.running(EXTENSION_STEP_MS_MAX)).toBe(1);
    clock.advance(EXTENSION_STEP_MS_MAX);
    const { answer } = await making;
    expect(answer).toMatchObject({ refusal: failed("make", "it took longer than 10000 ms") });
  });

  it("P10: is ended when too much waits for it", async () => {
    const { instance, dropped } = await instanceOf(
      "export default () => ({ event: () => new Promise(() => {}) })",
    );
    const limit = EXTENSION_CALLS_WAITING_MAX;
    await Promise.all(Array.from({ length: limit + 2 }, () => instance.tell({})));
    expect(dropped).toEqual([failed("event", `it is too slow: ${limit} calls wait for it`)]);
  });

  it("P10: is ended when too much text waits for it, and is not told more at a time", async () => {
    const { instance, dropped } = await instanceOf(
      `export default () => ({
        event: ({ n }) => n > 1 && new Promise(() => {}),
        hooks: { before_tool_call: () => ({ verdict: "pass" }) },
      })`,
    );
    const text = "x".repeat(EXTENSION_TOLD_CHARS_MAX);
    await instance.tell({ n: 2, text });
    const unjudged = { verdict: "ask", reason: "it is too large to be judged" };
    expect(await instance.hook("before_tool_call", { text })).toMatchObject({ value: unjudged });
    const length = EXTENSION_WAITING_CHARS_MAX / EXTENSION_TOLD_CHARS_MAX + 3;
    const event = { n: 2, text: text.slice(100) };
    await Promise.all(Array.from({ length }, () => instance.tell(event)));
    expect(dropped).toMatchObject([{ details: { reason: expect.stringContaining("too slow") } }]);
  });

  it("P10: floods neither the log nor the server with what it prints", async () => {
    const { instance, notes } = await instanceOf(
      HOOKED("for (let n = 0; n < 10_000; n += 1) { log('x'.repeat(9_999)); console.log(n); }"),
    );
    expect(await instance.hook("before_tool_call", {})).toMatchObject({ ok: true });
    expect(notes).toHaveLength(64);
    expect(notes[0]?.text).toHaveLength(512);
  });
});

describe("what an extension keeps", () => {
  const keeps = `export default ({ slots, log }) => ({
    activate() { log(JSON.stringify(slots.get())); },
    hooks: { before_tool_call({ value, owner, forget }) {
      try { slots.set(forget ? null : value, owner); } catch (why) { log(why.message); }
      log(JSON.stringify(slots.get()));
    } },
  });`;

  it("is a draft until a snapshot has it, and can be taken back", async () => {
    const { instance, notes } = await instanceOf(keeps);
    const keep = (facts: object) => instance.hook("before_tool_call", facts);
    await keep({ value: { n: 1 } });
    expect(instance.slot?.change).toEqual({
      kind: "write",
      slot: { version: "2.0.0", payload: new TextEncoder().encode('{"n":1}') },
    });
    instance.slot?.isStored('{"n":1}');
    expect(instance.slot?.change).toBeNull();
    instance.turnBegins();
    await keep({ value: { n: 2 } });
    instance.takeBack();
    expect(instance.slot?.change).toBeNull();
    await keep({ value: "text" });
    await keep({ forget: true });
    expect(instance.slot?.change).toEqual({ kind: "remove" });
    const invalid =
      'The slot of extension "notes" is not valid at its root: it must be of the type object.';
    const said = ['{"n":1}', '{"n":2}', invalid, '{"n":1}', "null"];
    expect(notes.map(({ text }) => text)).toEqual(said);
  });

  it("does not come back with an answer to what was asked before it was taken back", async () => {
    const { instance } = await instanceOf(keeps);
    const late = instance.hook("before_tool_call", { value: { n: 1 } });
    instance.takeBack();
    await late;
    expect(instance.slot?.text).toBeNull();
  });

  it("P8: is its own: another owner's slot is refused and noted", async () => {
    const { instance, notes } = await instanceOf(keeps);
    await instance.hook("before_tool_call", { value: {}, owner: "fermata.core" });
    expect(notes).toEqual([
      { kind: "denied", text: "fermata.core" },
      { kind: "log", text: 'The slot "fermata.core" is not that of the extension "notes".' },
      { kind: "log", text: "null" },
    ]);
    expect(instance.slot?.change).toBeNull();
  });

  it("P11: is no secret; one that keeps a secret is ended, its slot as it was", async () => {
    const { instance, dropped } = await instanceOf(keeps);
    await instance.hook("before_tool_call", { value: { password: "hunter22" } });
    expect(dropped).toEqual([{ code: "secret_leak", details: { paths: "slot notes" } }]);
    expect(instance.slot?.change).toBeNull();
  });

  it("P11: is not told of by half, where a reason is cut", async () => {
    const reason = `"${"x".repeat(EXTENSION_REASON_CHARS_MAX - 5)}hunter22"`;
    const verdict = `{ verdict: "deny", reason: ${reason} }`;
    const denies = `export default () => ({ hooks: { before_tool_call: () => (${verdict}) } });`;
    const { instance } = await instanceOf(denies);
    const said = await instance.hook("before_tool_call", {});
    expect(said).toMatchObject({ value: { reason: expect.stringMatching(/^x+\[gone$/) } });
  });

  it("P11: takes a secret out of what it says when it fails, and cuts that then", async () => {
    const fault = `throw new Error("x".repeat(508) + "hunter22");`;
    const source = `export default () => ({ hooks: { ${HOOK}() { ${fault} } } });`;
    const { instance, dropped } = await instanceOf(source);
    await instance.hook(HOOK, {});
    expect(JSON.stringify(dropped)).toContain("xxx[gon");
  });

  it("P11: is not stored if a secret became known since that is in it", async () => {
    let secret = "hunter22";
    const redact = (text: string) => text.replaceAll(secret, "[gone]");
    const { instance, dropped } = await instanceOf(keeps, { redact });
    await instance.hook("before_tool_call", { value: { word: "a new key" } });
    secret = "a new key";
    expect(instance.change).toBeNull();
    expect(dropped).toMatchObject([{ code: "secret_leak" }]);
  });

  it("P10: is refused where the slots of its session have no room for it", async () => {
    const { instance, dropped } = await instanceOf(keeps);
    await instance.hook("before_tool_call", { value: { text: "x".repeat(1_000) } });
    expect(dropped).toMatchObject([{ code: "slot_too_large", details: { limit: 1_000 } }]);
  });

  it("is delivered when it comes up, an older version by its own migration", async () => {
    const migrates = (answer: string) => `export default ({ slots, log }) => ({
      migrate: ({ version, value }) => (${answer}),
      activate: () => log(JSON.stringify(slots.get())),
    });`;
    const answer = '{ version: "2.0.0", value: { ...value, from: version } }';
    const { instance, notes } = await instanceOf(migrates(answer), { stored: old });
    await instance.take("init");
    await instance.take("activate");
    expect(notes).toEqual([{ kind: "log", text: '{"n":1,"from":"1.0.0"}' }]);
    expect(instance.slot?.change?.kind).toBe("write");

    const same = { ...old, version: "2.0.0" };
    const current = await instanceOf(migrates("null"), { stored: same });
    await current.instance.take("init");
    await current.instance.take("activate");
    expect(current.notes).toEqual([{ kind: "log", text: '{"n":1}' }]);
    expect(current.instance.slot?.change).toBeNull();
  });

  it.each<[string, string]>([
    ["migrate: () => { throw new Error('too old') }", "too old"],
    ["", "it has no function migrate"],
    ["migrate: (stored) => stored", "the migration answered version 1.0.0, not 2.0.0"],
    [
      "migrate: () => ({ version: '2.0.0', value: 1 })",
      "the migrated value is not valid (slot_invalid)",
    ],
  ])("P6: stays as it is if its migration fails: %s", async (member, reason) => {
    const { answer } = await made(`export default () => ({ ${member} });`, { stored: old });
    expect(answer).toEqual({
      ok: false,
      refusal: {
        code: "slot_migration_failed",
        details: { extension: "notes", stored: "1.0.0", reason },
      },
    });
  });

  it("is not looked into before its version is: a rejected slot starts no thread", async () => {
    const manifest = { ...MANIFEST, stateSlot: { ...SLOT, driftPolicy: "reject" as const } };
    const { answer } = await made("this is no module", { manifest, stored: old });
    expect(answer).toMatchObject({ refusal: { code: "slot_drift_rejected" } });
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../json.ts";
import { outputShown } from "../terminal-output.ts";
import { collapse, compactSegment, type UpdateEvent } from "./compact.ts";
import { frozen, toolCall, toolUpdate, under } from "./log.fixture.ts";

const wrote = (id: number, data: unknown, terminal = "t", key = "terminal_output") =>
  toolUpdate(id, "c", { _meta: { [key]: { terminal_id: terminal, data } } });

const exited = (id: number, exit_code: unknown = 0, terminal = "t", more: JsonObject = {}) => {
  const _meta = { terminal_exit: { terminal_id: terminal, exit_code, signal: null } };
  return toolUpdate(id, "c", { _meta, ...more });
};

const named = (...ids: readonly string[]) =>
  ids.map((terminalId) => ({ type: "terminal", terminalId }));

const words = (text: string) => ({ type: "content", content: { type: "text", text } });

const whole = (text: string, terminal: JsonObject) => ({ ...words(text), _meta: { terminal } });

const ENDED = { terminal_id: "t", exit_code: 0, signal: null };

const folded = (first: UpdateEvent, ...rest: readonly UpdateEvent[]) =>
  collapse(frozen([first, ...rest])).data.update;

describe("a tool call whose command was told piece by piece", () => {
  const begun = toolCall(1, "c", { title: "npm test", content: named("t") });

  it("has all of it as text where the terminal was named, and how it ended", () => {
    const call = folded(
      begun,
      wrote(2, "one\n"),
      wrote(3, "two\n"),
      wrote(4, "three\n"),
      exited(5),
    );
    expect(call).toEqual({
      sessionUpdate: "tool_call",
      toolCallId: "c",
      title: "npm test",
      content: [whole("one\ntwo\nthree\n", ENDED)],
      _meta: { terminal_exit: ENDED },
    });
  });

  it("P10: loses none of it in the way of codex, which calls its pieces deltas", () => {
    const delta = (id: number, data: string) => wrote(id, data, "t", "terminal_output_delta");
    const call = folded(begun, delta(2, "b1 "), delta(3, "b2 "), delta(4, "b3"));
    expect(call.content).toEqual([whole("b1 b2 b3", { terminal_id: "t" })]);
    expect(call).not.toHaveProperty("_meta");
  });

  it("keeps it when its agent replaces what the call contains", () => {
    const again = toolUpdate(9, "c", { status: "completed", content: named("t") });
    const other = toolUpdate(9, "c", { content: [words("summary")] });
    const output = whole("one", ENDED);
    const events = [wrote(2, "one"), exited(3, 0, "t", { content: [output] })] as const;
    expect(folded(begun, ...events, again).content).toEqual([output]);
    expect(folded(begun, ...events, other).content).toEqual([words("summary"), output]);
  });

  it("does not have it twice if the content says the same already", () => {
    const told = toolUpdate(4, "c", { content: [words("a"), words("one\n")] });
    expect(folded(begun, wrote(2, "one\n"), told, exited(5)).content).toEqual([
      words("a"),
      whole("one\n", ENDED),
    ]);
    const shown = exited(3, 0, "t", { content: [whole("cut short", ENDED)] });
    expect(folded(begun, wrote(2, "cut but not short"), shown).content).toEqual([
      whole("cut but not short", ENDED),
    ]);
  });

  it("keeps several terminals apart, each in its place and with its own end", () => {
    const both = toolCall(1, "c", { content: [...named("a"), words("and"), ...named("b", "x")] });
    const call = folded(
      both,
      wrote(2, "1", "a"),
      wrote(3, "one", "b"),
      wrote(4, "2", "a"),
      exited(5, 1, "a"),
      exited(6, null, "b"),
    );
    expect(call.content).toEqual([
      whole("12", { terminal_id: "a", exit_code: 1, signal: null }),
      words("and"),
      whole("one", { terminal_id: "b", exit_code: null, signal: null }),
      ...named("x"),
    ]);
  });

  it("takes the terminal for the call's own if it has no name", () => {
    const nameless = toolUpdate(2, "c", { _meta: { terminal_output: { data: "hi" } } });
    const own = toolCall(1, "c", { content: named("c") });
    expect(folded(own, nameless).content).toEqual([whole("hi", { terminal_id: "c" })]);
  });

  it("leaves alone what is no output, and passes it on as it was last said", () => {
    const odd = [5, null, ["x"], { text: "x" }].map((data, index) => wrote(2 + index, data));
    const call = folded(begun, ...odd);
    expect(call.content).toEqual(named("t"));
    expect(call._meta).toEqual({ terminal_output: { terminal_id: "t", data: { text: "x" } } });
    expect(
      folded(begun, wrote(2, "a"), toolUpdate(3, "c", { content: { odd: 1 } })).content,
    ).toEqual([{ odd: 1 }, whole("a", { terminal_id: "t" })]);
  });

  it("stays under the call that it began under", () => {
    const inner = toolCall(1, "c", under("task"));
    expect(folded(inner, wrote(2, "a"))._meta).toEqual({ parentToolCallId: "task" });
  });
});

describe("P10: any output", () => {
  const id = fc.constantFrom("t", "u", "v");
  const content = fc.array(
    fc.oneof(
      id.map((terminalId) => ({ type: "terminal", terminalId })),
      fc.constantFrom(words("a"), words("b\n"), words(""), null, { type: "diff" }),
    ),
    { maxLength: 3 },
  );
  const piece = fc.record({
    terminal: id,
    data: fc.string({ unit: "binary", maxLength: 3 }),
    key: fc.constantFrom("terminal_output", "terminal_output_delta"),
  });
  const step = fc.oneof(
    {
      weight: 5,
      arbitrary: piece.map((it) => (n: number) => wrote(n, it.data, it.terminal, it.key)),
    },
    fc.tuple(id, fc.constantFrom(0, 1, null)).map(
      ([t, code]) =>
        (n: number) =>
          exited(n, code, t),
    ),
    content.map((entries) => (n: number) => toolUpdate(n, "c", { content: entries })),
  );
  const log = fc
    .array(step, { minLength: 1, maxLength: 20 })
    .map((steps) => frozen(steps.map((make, index) => make(index + 1))));

  const outputs = (events: readonly UpdateEvent[]) => {
    const texts = new Map<string, string>();
    for (const { data } of events) {
      const meta = Object(data.update._meta);
      for (const key of ["terminal_output", "terminal_output_delta"]) {
        const said = meta[key];
        if (said) texts.set(said.terminal_id, (texts.get(said.terminal_id) ?? "") + said.data);
      }
    }
    return texts;
  };

  it("is whole and in order after folding, and folding again changes nothing", () => {
    fc.assert(
      fc.property(log, (events) => {
        const once = compactSegment(events);
        expect(compactSegment(frozen(once))).toEqual(once);
        const [call] = once;
        if (call?.type !== "session_update") expect.fail("no call");
        const shown = [call.data.update.content ?? []].flat().flatMap((entry) => {
          return outputShown(entry) ?? [];
        });
        for (const [terminalId, text] of outputs(events)) {
          expect(shown.filter((one) => one.terminalId === terminalId)).toMatchObject([{ text }]);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("is the same if its first part was folded before the rest came", () => {
    fc.assert(
      fc.property(log, fc.nat(20), (events, at) => {
        const cut = Math.min(at, events.length);
        const first = compactSegment(events.slice(0, cut));
        const twice = compactSegment([...first, ...events.slice(cut)]);
        const texts = (update: JsonObject) => {
          const shown = [update.content ?? []].flat().flatMap((entry) => outputShown(entry) ?? []);
          return new Map(shown.map(({ terminalId, text, exit }) => [terminalId, { text, exit }]));
        };
        const [whole] = compactSegment(events);
        const [again] = twice;
        expect(texts(Object(again).data.update)).toEqual(texts(Object(whole).data.update));
      }),
      { numRuns: 2_000 },
    );
  });

  it("costs no more for each piece, however many there are", () => {
    const many = Array.from({ length: 50_000 }, (_, index) => wrote(index + 1, "line\n"));
    const started = performance.now();
    const [call] = compactSegment(many);
    expect(JSON.stringify(call)).toContain("line\\nline");
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});

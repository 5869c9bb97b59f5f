import fc from "fast-check";
import type { AgentUpdate } from "../agent-update.ts";
import { EVENT_TYPES } from "../session/event-table.ts";
import { clientId, promptId } from "../session/life.fixture.ts";
import type { LogEvent } from "./compact.ts";
import { frozen, strange, under } from "./log.fixture.ts";

/** The words are few, so that events have something to do with each other. */
const { constant, constantFrom } = fc;
const nothing = constant({});

/** Of a terminal's output, or of nothing. */
const piece = constantFrom(
  { terminal_id: "v1", data: "a" },
  { terminal_id: "v2", data: "b\n" },
  { data: "c" },
  { terminal_id: "v1", data: 5 },
  null,
);

const meta = fc.oneof(
  { weight: 8, arbitrary: nothing },
  { weight: 6, arbitrary: constantFrom("sub-1", "sub-1", "sub-2").map((id) => under(id)) },
  { weight: 1, arbitrary: constantFrom({ _meta: null }, { _meta: "odd" }, { _meta: [] }) },
  {
    weight: 3,
    arbitrary: fc
      .record(
        {
          parentToolCallId: constantFrom("sub-1", "sub-2", "t1", "null", "", null, 5),
          qwenDiscreteMessage: constantFrom(true, false, "true"),
          qwenTranscript: constantFrom(null, {}, records(), records("r1"), records("r2")),
          usage: fc.record({ inputTokens: fc.nat(9) }),
          note: fc.nat(3),
          terminal_output: piece,
          terminal_output_delta: piece,
          terminal_exit: constantFrom({ terminal_id: "v1", exit_code: 1, signal: null }, "odd"),
        },
        { requiredKeys: [] },
      )
      .map((_meta) => ({ _meta })),
  },
);

function records(...sourceRecordIds: readonly string[]) {
  return { sourceRecordIds };
}

const messageId = fc.oneof(
  { weight: 6, arbitrary: nothing },
  constantFrom({ messageId: "m1" }, { messageId: "m2" }, { messageId: null }),
);

/** Made of whole characters: half of one could not be told from the other half after a join. */
const words = fc.string({ unit: "binary", maxLength: 3 });

const content = fc.oneof(
  { weight: 8, arbitrary: words.map((text) => ({ type: "text", text })) },
  { weight: 1, arbitrary: words.map((text) => ({ type: "text", text, annotations: text })) },
  { weight: 1, arbitrary: constantFrom({ type: "image", data: "png" }, { type: "text" }, null) },
);

type Updates = fc.Arbitrary<AgentUpdate>;

const SPOKEN = "agent_message_chunk";
const CHUNKS = [SPOKEN, SPOKEN, SPOKEN, "agent_thought_chunk", "user_message_chunk"];

const chunk: Updates = fc
  .tuple(constantFrom(...CHUNKS), content, messageId, meta)
  .map(([sessionUpdate, said, message, more]) => ({
    sessionUpdate,
    content: said,
    ...message,
    ...more,
  }));

const shellOutput: Updates = fc
  .tuple(words, meta)
  .map(([output, more]) => ({ sessionUpdate: "shell_output", output, ...more }));

const shownEntry = constantFrom<unknown>(
  { type: "terminal", terminalId: "v1" },
  { type: "terminal", terminalId: "v2" },
  { type: "content", content: { type: "text", text: "b" } },
  {
    type: "content",
    content: { type: "text", text: "c", annotations: 1 },
    _meta: { terminal: { terminal_id: "v2", exit_code: 0, signal: null }, more: 1 },
  },
);

const tool: Updates = fc
  .tuple(
    constantFrom("tool_call", "tool_call_update"),
    fc.record(
      {
        toolCallId: constantFrom("t1", "t1", "t2", "sub-1", "", null),
        title: constantFrom("Read", "Write", null),
        status: constantFrom("pending", "completed", null),
        content: fc.oneof(
          fc.array(fc.oneof(words, shownEntry), { maxLength: 3 }),
          constantFrom(null, "odd", {}),
        ),
      },
      { requiredKeys: [] },
    ),
    meta,
  )
  .map(([sessionUpdate, fields, more]) => ({ sessionUpdate, ...fields, ...more }));

const KINDS = ["plan", "usage_update", "current_mode_update", "session_info_update", "a2ui", ""];

const state: Updates = fc
  .tuple(constantFrom(...KINDS), constantFrom("x", "y", null, undefined), meta)
  .map(([sessionUpdate, title, more]) => ({
    sessionUpdate,
    ...(title !== undefined && { title }),
    ...more,
  }));

interface Fact {
  readonly type: string;
  readonly data: object;
}

const updateFact: fc.Arbitrary<Fact> = fc
  .oneof({ weight: 6, arbitrary: chunk }, { weight: 3, arbitrary: tool }, shellOutput, state)
  .map((update) => ({ type: "session_update", data: { update } }));

const OTHER_TYPES = [
  ...EVENT_TYPES.filter((type) => type !== "session_update"),
  "from_the_future",
  "constructor",
];

const otherFact: fc.Arbitrary<Fact> = fc.record({
  type: constantFrom(...OTHER_TYPES),
  data: fc.record({ n: fc.nat(2) }),
});

const verdictFact: fc.Arbitrary<Fact> = fc.record({
  type: constantFrom("turn_complete", "turn_error"),
  data: fc.record({ promptId: constantFrom("p1", "p2") }),
});

const stamp = fc.record(
  {
    promptId: constantFrom(promptId("p1"), promptId("p2")),
    originatorClientId: constantFrom(clientId("ann"), clientId("bob")),
  },
  { requiredKeys: [] },
);

/** Any log, numbered without gaps and frozen, so that a write to an event throws. */
export const anyLog: fc.Arbitrary<readonly LogEvent[]> = fc
  .array(
    fc.tuple(
      fc.oneof(
        { weight: 12, arbitrary: updateFact },
        { weight: 3, arbitrary: otherFact },
        { weight: 1, arbitrary: verdictFact },
      ),
      stamp,
    ),
    { maxLength: 40, size: "max" },
  )
  .map((facts) =>
    frozen(facts.map(([{ type, data }, by], index) => strange(index + 1, type, data, by))),
  );

import { CLIENT_METHODS } from "../../../wire/acp.ts";
import { notificationLine, resultLine } from "../../../wire/rpc.ts";
import { CLIENT_DIRECTIVES } from "./client-directives.ts";
import { languageText } from "./flags.ts";
import type { Directive, Verb } from "./language.ts";
import { CHUNKS_PER_BREATH, FLOOD_PIECE_BYTES, RECALL_CHARS_MAX, WAIT_MS_MAX } from "./limits.ts";
import { MODEL_OPTION, MODEL_SELECTIONS } from "./settings.ts";
import type { Performers, Turn, TurnEnding } from "./turn.ts";

/** Does what a directive says. */
export function perform<V extends Verb>(turn: Turn, { verb, args }: Directive<V>) {
  return PERFORMERS[verb](turn, args);
}

const TEXT_DIRECTIVES = {
  say: (turn, { text }) => turn.say(text),
  think: (turn, { text }) => turn.think(text),
  chunks: async (turn, { count, bytes }) => {
    await repeat(turn, count, (number) => {
      // Exactly so many bytes, which begin with the number as long as it fits.
      return turn.say(`${number} `.slice(0, bytes).padEnd(bytes, "."));
    });
  },
  message: (turn, { id }) => {
    turn.messageId = id;
  },
  help: (turn) => turn.say(`${languageText()}\n`),
  recall: (turn) => {
    const { past } = turn.session;
    const turns = past.length === 1 ? "1 turn" : `${past.length} turns`;
    const last = past.at(-1);
    const before = last === undefined ? "" : `; last you said ${JSON.stringify(last.user)}`;
    const context = turn.context.map((text) => {
      return `Before this prompt came: ${text.slice(0, RECALL_CHARS_MAX)}\n`;
    });
    return turn.say(`I remember ${turns}${before}.\n${context.join("")}`);
  },
  whoami: (turn) => turn.say(factsOf(turn)),
  env: (turn, { names }) => {
    const lines = names.map((name) => {
      const value = process.env[name];
      return value === undefined ? `${name} is not set\n` : `${name}=${value}\n`;
    });
    return turn.say(lines.join(""));
  },
} satisfies Partial<Performers>;

function factsOf({ session, deps }: Turn): string {
  const { cwd, mcpServers, systemPrompt } = session.options;
  const facts = {
    session: session.id,
    cwd,
    "process cwd": process.cwd(),
    sessions: deps.sessionIds().join(", "),
    flags: deps.flags.argv.join(" "),
    model: session.setting(MODEL_OPTION),
    mode: session.modeId,
    ...Object.fromEntries(MODEL_SELECTIONS.map(({ id }) => [id, session.setting(id)])),
    "MCP servers": mcpServers.map(({ name, type }) => `${name} (${type ?? "stdio"})`).join(", "),
    "system prompt": systemPrompt,
  };
  const lines = Object.entries(facts).map(([name, fact]) => `${name}: ${fact || "none"}\n`);
  return lines.join("");
}

/** Directives about how, when and whether the turn ends. */
const ENDING_DIRECTIVES = {
  sleep: (turn, { ms }) => turn.pause(ms),
  hang: (turn) => turn.untilCancelled(),
  "ignore-cancel": (turn) => {
    turn.ignoresCancel = true;
  },
  refuse: (): TurnEnding => ({ kind: "stop", stopReason: "refusal" }),
  stop: (_, { stopReason }): TurnEnding => ({ kind: "stop", stopReason }),
  fail: (_, error): TurnEnding => ({ kind: "error", error }),
  twice: (turn) => {
    turn.answers = 2;
  },
} satisfies Partial<Performers>;

/** Directives that do what an agent should not. */
const MISCONDUCT_DIRECTIVES = {
  crash: async (turn, { code }) => {
    await turn.outbox.flushed();
    process.exit(code);
  },
  /** The turn goes on if the signal is one that does not kill. */
  signal: async (turn, { name }) => {
    await turn.outbox.flushed();
    process.kill(process.pid, name);
  },
  garbage: async (turn, { count }) => {
    await repeat(turn, count, (number) => {
      return turn.outbox.send(`garbage ${number}: {"jsonrpc": "2.0", "id":\n`);
    });
  },
  longline: (turn, { bytes }) => {
    const line = (text: string) => {
      const content = { type: "text", text };
      return turn.updateLine({ sessionUpdate: "agent_message_chunk", content });
    };
    // The newline is not part of the line.
    const textBytes = Math.max(0, bytes - (line("").length - 1));
    return turn.outbox.send(line("x".repeat(textBytes)));
  },
  flood: async (turn, { bytes }) => {
    const piece = "x".repeat(FLOOD_PIECE_BYTES);
    for (let left = bytes; left > 0 && !turn.isCancelled; left -= FLOOD_PIECE_BYTES) {
      await turn.outbox.send(left < FLOOD_PIECE_BYTES ? piece.slice(0, left) : piece);
    }
    return turn.outbox.send("\n");
  },
  /** Such a line can be parsed, but a recursive writer such as `JSON.stringify` fails at it. */
  deep: (turn, { levels }) => {
    const update = { sessionUpdate: "tool_call_update", toolCallId: "deep", rawOutput: "HERE" };
    const nested = `${"[".repeat(levels)}${"]".repeat(levels)}`;
    const line = turn.updateLine(update).replace('"HERE"', levels === 0 ? "null" : nested);
    return turn.outbox.send(line);
  },
  stray: ({ outbox }) => {
    const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "boo" } };
    outbox.post(notificationLine(CLIENT_METHODS.update, { sessionId: "sess-of-nobody", update }));
    return outbox.send(resultLine("an-id-of-nobody", { stopReason: "end_turn" }));
  },
  stderr: async (_, { text }) => {
    await new Promise<void>((resolve) => process.stderr.write(`${text}\n`, () => resolve()));
  },
  "fork-child": async (turn, { isDetached, holdsOutput }) => {
    // Imported here, because every start would pay for it and few turns need it.
    const { spawn } = await import("node:child_process");
    const child = spawn(process.execPath, ["-e", `setTimeout(() => {}, ${WAIT_MS_MAX})`], {
      detached: isDetached,
      stdio: ["ignore", holdsOutput ? "inherit" : "ignore", "ignore"],
    });
    child.unref();
    return turn.say(`child ${child.pid}\n`);
  },
} satisfies Partial<Performers>;

/** A verb without a performer does not compile. */
const PERFORMERS: Performers = {
  ...TEXT_DIRECTIVES,
  ...CLIENT_DIRECTIVES,
  ...ENDING_DIRECTIVES,
  ...MISCONDUCT_DIRECTIVES,
};

/** Stops at a cancel. It yields now and then, or a fast reader would keep echo from reading. */
async function repeat(
  turn: Turn,
  count: number,
  send: (number: number) => Promise<undefined> | undefined,
): Promise<void> {
  for (let number = 1; number <= count && !turn.isCancelled; number += 1) {
    const full = send(number);
    if (full !== undefined) await full;
    if (number % CHUNKS_PER_BREATH === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

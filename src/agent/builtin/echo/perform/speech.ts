import { languageText } from "../help.ts";
import type { Arguments } from "../language.ts";
import { CHUNKS_PER_BREATH, RECALL_CHARS_MAX } from "../limits.ts";
import { MODEL_OPTION, MODEL_SELECTIONS } from "../settings.ts";
import type { Step, Turn } from "../turn.ts";

/** Directives that say something. */

export function say(turn: Turn, { text }: Arguments["say"]): Step {
  return turn.say(text);
}

export function think(turn: Turn, { text }: Arguments["think"]): Step {
  return turn.think(text);
}

export async function chunks(turn: Turn, { count, bytes }: Arguments["chunks"]) {
  for (let number = 1; number <= count && !turn.isCancelled; number += 1) {
    const full = turn.say(numbered(number, bytes));
    if (full !== undefined) await full;
    if (number % CHUNKS_PER_BREATH === 0) await breath();
  }
  return undefined;
}

/** Exactly so many bytes, which begin with the number as long as it fits. */
function numbered(number: number, bytes: number): string {
  return `${number} `.slice(0, bytes).padEnd(bytes, ".");
}

/** Without it a reader that keeps up would keep echo from ever reading. */
function breath(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export function message(turn: Turn, { id }: Arguments["message"]): Step {
  turn.messageId = id;
  return undefined;
}

export function help(turn: Turn): Step {
  return turn.say(`${languageText()}\n`);
}

export function recall(turn: Turn): Step {
  const { past } = turn.session;
  const turns = past.length === 1 ? "1 turn" : `${past.length} turns`;
  const last = past.at(-1);
  const before = last === undefined ? "" : `; last you said ${JSON.stringify(last.user)}`;
  const context = turn.context.map((text) => {
    return `Before this prompt came: ${text.slice(0, RECALL_CHARS_MAX)}\n`;
  });
  return turn.say(`I remember ${turns}${before}.\n${context.join("")}`);
}

export function whoami(turn: Turn): Step {
  const { session, stage } = turn;
  const servers = session.around.mcpServers.map(({ name, type }) => `${name} (${type ?? "stdio"})`);
  const facts = {
    session: session.id,
    cwd: session.around.cwd,
    "process cwd": process.cwd(),
    sessions: stage.sessionIds().join(", "),
    flags: stage.flags.argv.join(" "),
    model: session.option(MODEL_OPTION),
    mode: session.modeId,
    ...Object.fromEntries(MODEL_SELECTIONS.map(({ id }) => [id, session.option(id)])),
    "MCP servers": servers.join(", "),
    "system prompt": session.around.systemPrompt,
  };
  const lines = Object.entries(facts).map(([name, fact]) => `${name}: ${fact || "none"}\n`);
  return turn.say(lines.join(""));
}

export function env(turn: Turn, { names }: Arguments["env"]): Step {
  const lines = names.map((name) => {
    const value = process.env[name];
    return value === undefined ? `${name} is not set\n` : `${name}=${value}\n`;
  });
  return turn.say(lines.join(""));
}

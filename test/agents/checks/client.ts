// The client library with a public agent behind its server.

import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  Fermata,
  type ReceivedEvent,
  type SessionHandle,
  type ToolCallPart,
  type TurnHandle,
} from "../../../src/client/index.ts";
import { must, within } from "../must.ts";
import type { World } from "../world.ts";
import { type Check, mark } from "./check.ts";

const TURN_MS_MAX = 60_000;
const SLOW = 400;

/** A whole turn in parts. Its asks are allowed where they are found. */
async function readAllowing(turn: TurnHandle) {
  const seen = { text: "", calls: new Set<ToolCallPart>(), asks: new Set<object>() };
  for await (const part of turn) {
    if (part.type === "text") seen.text += part.text;
    if (part.type === "tool") seen.calls.add(part.call);
    if (part.type !== "ask" || seen.asks.has(part.ask)) continue;
    seen.asks.add(part.ask);
    if (part.ask.outcome === null) await part.ask.allow();
  }
  return seen;
}

/** The text of a turn in the middle of which the server is killed and starts again. */
async function readOverKill(world: World, turn: TurnHandle, word: string): Promise<string> {
  let text = "";
  let isKilled = false;
  for await (const part of turn) {
    if (part.type === "text") text += part.text;
    if (isKilled || !text.includes(`${word}-3 `)) continue;
    isKilled = true;
    await world.server.kill("SIGKILL");
    await within(TURN_MS_MAX, "the server starts again", world.server.restart());
  }
  must(isKilled, "the agent speaks", text);
  return text;
}

/** All that has been told of a session so far. */
async function toldOf(session: SessionHandle): Promise<readonly ReceivedEvent[]> {
  const told: ReceivedEvent[] = [];
  for await (const item of session.events()) {
    if (item.kind === "connection" && item.state === "live") break;
    if (item.kind === "event") told.push(item.event);
  }
  return told;
}

function oneVerdictEach(told: readonly ReceivedEvent[], turns: readonly TurnHandle[]): void {
  for (const { promptId } of turns) {
    const verdicts = told.filter(({ type, promptId: of }) => {
      return (type === "turn_complete" || type === "turn_error") && of === promptId;
    });
    must(verdicts.length === 1, "P2: a prompt has one verdict", verdicts);
  }
  const isNext = told.every(({ id }, index) => id === index + 1);
  must(isNext, "P3: event ids go on without gap or repeat", told.map(({ id }) => id).slice(-20));
}

async function goesOn(world: World): Promise<void> {
  const session = await new Fermata({ url: world.server.url }).sessions.create();
  const [old, asked, word] = [mark("OLD"), mark("ASKED"), mark("PARTIAL")];
  const file = join(world.workspace, `${mark("ran")}.txt`);

  const first = await session.prompt(`Remember ${old}. [[run: echo ran > ${file}]]`);
  const { text, calls, asks } = await within(TURN_MS_MAX, "a turn ends", readAllowing(first));
  const verdict = await first.verdict;
  must(verdict.kind === "complete", "the verdict is a value", verdict);
  must(text !== "" && text.endsWith(verdict.text), "the agent's words are parts", text, verdict);
  // An agent with a sandbox tries in it first, which is a call of its own.
  const ids = new Set([...calls].map(({ toolCallId }) => toolCallId));
  must(ids.size > 0 && ids.size === calls.size, "a tool call is one object", [...calls]);
  must(asks.size === 1, "people are asked exactly once", asks.size);
  must(existsSync(file), "what `allow()` allows is done", text);

  const second = await session.prompt(`Also ${asked}. [[slowly: ${SLOW} | ${word}]]`);
  const reading = readOverKill(world, second, word);
  const partial = await within(2 * TURN_MS_MAX, "an interrupted turn ends", reading);
  const interrupted = await second.verdict;
  const isTold = interrupted.kind === "error" && interrupted.code === "SERVER_RESTART";
  must(isTold, "the verdict is SERVER_RESTART", interrupted);
  const whole = Array.from({ length: SLOW }, (_, index) => `${word}-${index + 1}`).join(" ");
  must(whole.startsWith(partial.trim()), "no text comes twice, and none is left out", partial);

  await world.agent.beforeLoad?.();
  const third = await session.prompt(`[[recall: ${old} | ${asked}]]`);
  const next = await within(TURN_MS_MAX, "the next turn ends", readAllowing(third));
  must((await third.verdict).kind === "complete", "the next prompt is answered", next.text);
  must(next.text.includes(`${old}=yes`), "it remembers the old turn", next.text);
  must(next.text.includes(`${asked}=yes`), "it remembers the interrupted one", next.text);
  must(!next.text.includes(word), "no old text is in the new turn", next.text);

  const again = await within(TURN_MS_MAX, "a turn is read again", readAllowing(first));
  must(again.text === text, "a turn that is read again is the same", again.text);
  const told = await within(TURN_MS_MAX, "the log is told", toldOf(session));
  oneVerdictEach(told, [first, second, third]);
}

const client: Check = {
  name: "client",
  title: "P2, P3: `fermata/client` asks, answers, and goes on over a kill -9 of the server",
  run: goesOn,
};

export const CLIENT: readonly Check[] = [client];

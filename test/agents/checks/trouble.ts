// Cancels, kills and missing keys.

import { stringAt } from "../../../src/core/json.ts";
import { type HostedSession, isVerdict, spoken, summary, updateOf } from "../hosted.ts";
import { must, within } from "../must.ts";
import { send } from "../wire-client.ts";
import { endProcess, type World } from "../world.ts";
import { type Check, mark } from "./check.ts";

const CANCEL_MS_MAX = 2_000;
const SLOW = 400;

/** A turn in the middle of what the agent says. */
async function inMidTurn(session: HostedSession, prompt: string, word: string): Promise<string> {
  const promptId = await session.prompt(`${prompt} [[slowly: ${SLOW} | ${word}]]`);
  let heard = "";
  await session.heard("the agent speaks", (event) => {
    heard += spoken([event]);
    return heard.includes(`${word}-3 `) || isVerdict(event, promptId);
  });
  return promptId;
}

const cancel: Check = {
  name: "cancel",
  title: "a cancel in mid-turn gives the verdict `cancelled` within 2 s",
  run: async (world) => {
    const session = await world.session();
    const promptId = await inMidTurn(session, "", mark("CANCEL"));
    const startedMs = performance.now();
    await session.ask("POST", "/cancel");
    const verdict = await session.verdict(promptId, 30_000);
    const ms = Math.round(performance.now() - startedMs);
    must(verdict.data.stopReason === "cancelled", "the verdict is `cancelled`", verdict.data);
    must(ms <= CANCEL_MS_MAX, "the verdict comes within 2 s", `${ms} ms`);
  },
};

/** What has to hold of the next turns, however the last one was interrupted. */
async function goesOn(
  session: HostedSession,
  interrupted: { readonly promptId: string; readonly word: string },
  secrets: { readonly old: string; readonly asked: string },
): Promise<void> {
  const { promptId, word } = interrupted;
  const { old, asked } = secrets;
  const { text, events, verdict } = await session.turn(`[[recall: ${old} | ${asked}]]`);
  must(verdict.type === "turn_complete", "the next prompt is answered", verdict.data);
  must(text.includes(`${old}=yes`), "the next prompt remembers the old turns", text);
  must(text.includes(`${asked}=yes`), "the next prompt remembers the interrupted one", text);
  must(!text.includes(word) && !text.includes("I see"), "no old text is in the new turn", text);
  const echoes = events.filter((event) => {
    return updateOf(event).sessionUpdate === "user_message_chunk";
  });
  must(echoes.length <= 1, "no old prompt is in the new turn", echoes.map(updateOf));
  const { body } = await session.ask("POST", "/load", {});
  const kept = JSON.stringify([body.compactedReplay, body.liveJournal]);
  must(kept.includes(`${word}-1 `), "partial text is kept", summary(session.events));
  const verdicts = session.events.filter((event) => isVerdict(event, promptId));
  must(verdicts.length === 1, "P2: a prompt has one verdict", verdicts.length);
  const ids = session.events.flatMap(({ id }) => (id === null ? [] : [id]));
  must(
    ids.every((id, index) => id === index + 1),
    "P3: event ids go on without gap or repeat",
    ids.slice(-20),
  );
}

const killAgent: Check = {
  name: "kill-agent",
  title: "P2, P6: kill -9 of the agent in mid-turn: one verdict, and nothing is forgotten",
  run: async (world) => {
    const session = await world.session();
    const [old, asked, word] = [mark("OLD"), mark("ASKED"), mark("PARTIAL")];
    await session.turn(`Remember ${old}. [[say: I see]]`);
    const promptId = await inMidTurn(session, `Also ${asked}.`, word);
    const killed = world.agents;
    must(killed.length > 0, "the agent is a process of the server's");
    for (const pid of killed) endProcess(pid);
    const verdict = await session.verdict(promptId, 30_000);
    must(verdict.type === "turn_error", "the verdict is an error", verdict.data);
    await world.agent.beforeLoad?.();
    await goesOn(session, { promptId, word }, { old, asked });
  },
};

const killServer: Check = {
  name: "kill-server",
  title: "P1, P2, P3, P6: kill -9 of the server in mid-turn: one verdict, and nothing is forgotten",
  run: async (world) => {
    const session = await world.session();
    const [old, asked, word] = [mark("OLD"), mark("ASKED"), mark("PARTIAL")];
    await session.turn(`Remember ${old}. [[say: I see]]`);
    const promptId = await inMidTurn(session, `Also ${asked}.`, word);
    await world.server.kill("SIGKILL");
    await within(60_000, "the server starts again", world.server.restart());
    const verdict = await session.verdict(promptId);
    must(verdict.data.code === "SERVER_RESTART", "the verdict is SERVER_RESTART", verdict.data);
    await world.agent.beforeLoad?.();
    await goesOn(session, { promptId, word }, { old, asked });
  },
};

const CLEAR = /\bkeys?\b|api.?key|auth|sign.?in|log.?in|credential|\b401\b/i;
const KEY_MS_MAX = 60_000;

/** What the user sees first: a refused session, a failed turn, or text of the agent. */
async function complaint(world: World): Promise<string> {
  const body = { sessionScope: "thread" };
  const made = await send(world.server.url, "POST", "/session", { body, ms: KEY_MS_MAX });
  if (made.status >= 300) return stringAt(made.body, "error") ?? made.text;
  const session = await world.session();
  const promptId = await session.prompt("[[say: hello]]");
  const { verdict, text } = await session.finish(promptId, "reject_once", KEY_MS_MAX);
  must(!text.includes("hello"), "no answer comes without a good key", text);
  return `${stringAt(verdict.data, "message") ?? ""} ${text}`;
}

async function saysClearly(world: World): Promise<void> {
  const words = await within(2 * KEY_MS_MAX, "an error in bounded time", complaint(world));
  must(CLEAR.test(words), "the error says what is wrong", words);
}

const noKey: Check = {
  name: "no-key",
  title: "P10: no key is a clear error in bounded time",
  key: "none",
  run: saysClearly,
};

const wrongKey: Check = {
  name: "wrong-key",
  title: "P10: a wrong key is a clear error in bounded time",
  key: "wrong",
  run: saysClearly,
};

const noneLeft: Check = {
  name: "no-process-left",
  title: "P5: no process is left when the server has stopped",
  run: async (world) => {
    const session = await world.session();
    await session.turn("[[say: hello]]");
    must(world.processes.length > 0, "the agent is a process");
    await world.leave();
    await within(60_000, "the server stops", world.server.kill("SIGTERM"));
    const left = world.processes;
    await world.server.restart();
    must(left.length === 0, "no process is left", left);
  },
};

export const TROUBLE: readonly Check[] = [cancel, killAgent, killServer];
export const KEYS: readonly Check[] = [noKey, wrongKey];
export const END: readonly Check[] = [noneLeft];

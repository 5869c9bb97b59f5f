// One agent delegates to another, of another vendor.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { objectAt, stringAt } from "../../../src/core/json.ts";
import { type HostedSession, isVerdict, spoken, summary, type Turn } from "../hosted.ts";
import { Broken, must, within } from "../must.ts";
import { ask as request, type WireEvent } from "../wire-client.ts";
import type { World } from "../world.ts";
import { type Check, mark } from "./check.ts";

/** Asks of the agent that delegates; more than one call of a tool ever needs. */
const ASKS_MAX = 6;
const SLOW = 400;

/** Many agents connect to MCP servers only in the course of the first turn, beside it. */
const MCP_PAUSE_MS = 500;
const MCP_TURNS_MAX = 20;

/** The prompt of a turn in which the other agent has begun to do this. */
async function delegated(session: HostedSession, world: World, command: string): Promise<string> {
  const prompt = `[[delegate: ${world.others[0]?.name} | ${command}]]`;
  for (let tries = 0; tries < MCP_TURNS_MAX; tries += 1) {
    if (tries > 0) await pause(MCP_PAUSE_MS);
    const promptId = await session.prompt(prompt);
    if (await hasChild(session, promptId)) return promptId;
  }
  throw new Broken("the agent delegates", summary(session.events));
}

/** Whether a child begins in this turn; what its parent asks for, as to delegate, is allowed. */
async function hasChild(session: HostedSession, promptId: string): Promise<boolean> {
  const voted = new Set<WireEvent>();
  for (let asks = 0; asks < ASKS_MAX; asks += 1) {
    const next = await session.heard("the agent delegates", (event) => {
      const isNew = event.promptId === promptId && !voted.has(event);
      return isVerdict(event, promptId) || (isNew && BEGINS.has(event.type));
    });
    if (next.type !== "permission_request") return next.type === "child_session_started";
    voted.add(next);
    await session.vote(next, "allow_once");
  }
  return false;
}

const BEGINS: ReadonlySet<string> = new Set(["permission_request", "child_session_started"]);

/** What the one child of a turn came to, which is told before the verdict. */
function endOf({ events, verdict, text }: Turn): WireEvent {
  const ends = events.filter(({ type }) => type === "child_session_ended");
  const [end] = ends;
  must(end !== undefined && ends.length === 1, "one child has one end", text, summary(events));
  must(events.indexOf(end) < events.indexOf(verdict), "P2: a child ends before its turn");
  const later = events.slice(events.indexOf(end) + 1).filter(({ childId, type }) => {
    return childId !== null && type !== "child_usage_reported";
  });
  must(later.length === 0, "nothing of a child follows its end", later);
  return end;
}

/** Each event of a session has come once, and none is missing. */
function mustBeWhole({ events }: HostedSession): void {
  const ids = events.flatMap(({ id }) => (id === null ? [] : [id]));
  const isWhole = ids.every((id, index) => id === index + 1);
  must(isWhole, "P3: event ids go on without gap or repeat", ids.slice(-20));
}

const result: Check = {
  name: "delegate",
  title: "P2: the other agent does a task, and the model of the first reads what it says",
  run: async (world) => {
    const session = await world.session();
    const word = mark("FOUND");
    const promptId = await delegated(session, world, `say: ${word}`);
    const turn = await session.finish(promptId, "allow_once");
    const { data } = endOf(turn);
    must(data.state === "Closed" && data.text === word, "the child says its result", data);
    const own = turn.events.filter(({ childId }) => childId !== null);
    const [begun] = own;
    must(begun?.data.agent === world.others[0]?.name, "the child is the other agent", begun?.data);
    must(spoken(own).includes(word), "people see what the child says", summary(own));
    const reads = world.model.requests.some(({ messages }) => {
      return messages.some(({ role, text }) => role === "tool" && text.includes(word));
    });
    must(reads, "the model that has delegated reads the result", turn.text);
    must(turn.verdict.type === "turn_complete", "the turn goes on to its end", turn.verdict.data);
    mustBeWhole(session);
  },
};

const ask: Check = {
  name: "delegate-ask",
  title: "P7: people are asked for what the other agent wants to do, which then is done",
  run: async (world) => {
    const session = await world.session();
    const file = join(world.workspace, `${mark("delegated")}.txt`);
    const promptId = await delegated(session, world, `write: ${file} | new content`);
    const asked = await session.heard("the child asks people", (event) => {
      const isAsk = event.type === "permission_request" && event.childId !== null;
      return isAsk || isVerdict(event, promptId);
    });
    must(asked.childId !== null, "the child asks people", summary(session.events));
    must(!existsSync(file), "nothing is done before it is allowed");
    await session.vote(asked, "allow_once");
    const turn = await session.finish(promptId, "allow_once");
    must(existsSync(file), "what was allowed is done", turn.text);
    const { data } = endOf(turn);
    must(data.state === "Closed", "the child goes on to its end", data);
  },
};

/** Enough to delegate, and for a few model calls of the child. */
const BUDGET_MICRO = 7_000;
const TOO_MANY_CALLS = 40;
const SLOW_TURN_MS_MAX = 180_000;

const budget: Check = {
  name: "delegate-budget",
  title: "P9: a budget stops the other agent in the middle, and then the turn",
  run: async (world) => {
    const session = await world.session({ mode: "yolo" });
    // Until it can delegate at all it should cost nothing.
    await session.finish(await delegated(session, world, "say: hello"), "allow_once");
    const { body } = await session.ask("GET", "/stats");
    const chargedBefore = Number(objectAt(body, "cost")?.chargedMicro);
    const limit = { budgetMicro: chargedBefore + BUDGET_MICRO };
    await request(world.server.url, "POST", `/credits/budgets/session:${session.id}`, {
      body: limit,
    });
    const before = world.model.spent;
    const promptId = await delegated(session, world, `runs: ${TOO_MANY_CALLS} | echo step`);
    const turn = await session.finish(promptId, "allow_once", SLOW_TURN_MS_MAX);
    const { data } = endOf(turn);
    const code = stringAt(objectAt(data, "error") ?? {}, "code");
    must(data.state === "Halted", "the child is halted", data, turn.verdict.data);
    must(code === "budget_exhausted", "the child ends with budget_exhausted", data);
    const { type, data: verdict } = turn.verdict;
    must(verdict.code === "budget_exhausted", "the turn ends with budget_exhausted", type, verdict);
    const calls = world.model.spent.calls - before.calls;
    must(calls < TOO_MANY_CALLS, "the model is not called to the end", calls);
    const { data: paid } = await session.heard("the turn is settled", (event) => {
      return event.type === "credits_settled" && event.data.turnId === verdict.turnId;
    });
    const [reserved, charged] = [Number(paid.reservedMicro), Number(paid.chargedMicro)];
    must(charged > 0, "what was used is charged", paid);
    must(reserved === charged + Number(paid.releasedMicro), "P9: no credit is lost", paid);
  },
};

const kill: Check = {
  name: "delegate-kill",
  title: "P2, P3, P5: kill -9 of the server: the child is Aborted, then the turn has its verdict",
  run: async (world) => {
    const session = await world.session({ mode: "yolo" });
    const word = mark("PARTIAL");
    const promptId = await delegated(session, world, `slowly: ${SLOW} | ${word}`);
    let heard = "";
    await session.heard("the child speaks", (event) => {
      if (event.childId !== null) heard += spoken([event]);
      return heard.includes(`${word}-3 `) || isVerdict(event, promptId);
    });
    const old = world.processes;
    await world.server.kill("SIGKILL");
    await within(60_000, "the server starts again", world.server.restart());
    const verdict = await session.verdict(promptId);
    must(verdict.data.code === "SERVER_RESTART", "the verdict is SERVER_RESTART", verdict.data);
    const { data } = endOf(session.turnOf(promptId, verdict));
    must(data.state === "Aborted", "the child is Aborted", data);
    const left = world.processes.filter((pid) => old.includes(pid));
    must(left.length === 0, "P5: no agent of before is left", left);
    const next = mark("AGAIN");
    const againId = await delegated(session, world, `say: ${next}`);
    const again = await session.finish(againId, "allow_once");
    must(endOf(again).data.text === next, "it delegates again", again.text, again.verdict.data);
    mustBeWhole(session);
  },
};

export const DELEGATION: readonly Check[] = [result, ask, budget, kill];

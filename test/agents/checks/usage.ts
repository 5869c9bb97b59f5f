// What turns cost: the model's own count against what was charged.

import { stringAt } from "../../../src/core/json.ts";
import type { HostedSession, Turn } from "../hosted.ts";
import { must } from "../must.ts";
import type { World } from "../world.ts";
import type { Check } from "./check.ts";

/** All but the last run a command. */
const CALLS = 13;
const MANY_CALLS = `[[runs: ${CALLS - 1} | echo step]]`;

/** More than any of these turns costs, so that credits are set aside and nothing is stopped. */
const ENOUGH_MICRO = 10_000_000;

interface Priced {
  readonly turn: Turn;
  /** What the model has counted. */
  readonly calls: number;
  readonly spent: number;
  readonly charged: number;
  readonly reserved: number;
  readonly isUnknown: boolean;
}

async function priced(world: World, session: HostedSession, prompt: string): Promise<Priced> {
  const before = world.model.spent;
  const turn = await session.turn(prompt);
  const turnId = stringAt(turn.verdict.data, "turnId");
  const { data } = await session.heard(
    "a turn is settled",
    (event) => event.type === "credits_settled" && event.data.turnId === turnId,
  );
  const after = world.model.spent;
  const [calls, spent] = [after.calls - before.calls, after.tokens - before.tokens];
  const [charged, reserved] = [Number(data.chargedMicro), Number(data.reservedMicro)];
  return { turn, calls, spent, charged, reserved, isUnknown: data.usage === "unknown" };
}

/** By what the roster says of its figures: all are told, or the turn says that some are not. */
function mustBePaid({ agent }: World, tells: "calls" | "turns", paid: Priced): void {
  const { charged, spent, reserved, isUnknown } = paid;
  const seen = { charged, spent, reserved, isUnknown };
  if (agent.untold?.includes(tells)) {
    must(isUnknown, "a turn without figures is told as unknown", seen);
    must(charged === reserved && charged > 0, "a turn without figures costs its reserve", seen);
  } else {
    must(!isUnknown, "the agent tells what its turn used", seen);
    must(charged === spent, "all model calls are charged, each once", seen);
  }
}

const manyCalls: Check = {
  name: "usage-calls",
  title: "P9: 13 model calls in one turn are charged as the model counts them, or as unknown",
  run: async (world) => {
    const session = await world.session({ mode: "yolo", budget: ENOUGH_MICRO });
    const paid = await priced(world, session, MANY_CALLS);
    must(paid.calls === CALLS, `the model is called ${CALLS} times`, paid.calls);
    mustBePaid(world, "calls", paid);
  },
};

const manyTurns: Check = {
  name: "usage-turns",
  title: "P9: each of three turns is charged as the model counts it, or as unknown",
  run: async (world) => {
    const session = await world.session({ budget: ENOUGH_MICRO });
    for (const word of ["one", "two", "three"]) {
      mustBePaid(world, "turns", await priced(world, session, `[[say: ${word}]]`));
    }
  },
};

/** One reserve and a half: too little for eleven tool calls of an agent without figures. */
const LITTLE_MICRO = 3_000;
const TOO_MANY_CALLS = 40;

const budget: Check = {
  name: "usage-budget",
  title: "P9: a budget stops a turn in the middle",
  run: async (world) => {
    const session = await world.session({ mode: "yolo", budget: LITTLE_MICRO });
    const { turn, calls, charged } = await priced(
      world,
      session,
      `[[runs: ${TOO_MANY_CALLS} | echo step]]`,
    );
    const { type, data } = turn.verdict;
    must(data.code === "budget_exhausted", "the turn ends with budget_exhausted", type, data);
    must(calls < TOO_MANY_CALLS, "the model is not called to the end", calls);
    must(charged > 0, "what was used is charged", charged);
  },
};

export const USAGE: readonly Check[] = [manyCalls, manyTurns, budget];

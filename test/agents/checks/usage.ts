// What turns cost: the model's own count against what was charged.

import { stringAt } from "../../../src/core/json.ts";
import type { HostedSession, Turn } from "../hosted.ts";
import { must } from "../must.ts";
import type { World } from "../world.ts";
import type { Check } from "./check.ts";

/** All but the last run a command. */
const CALLS = 13;

/** What the model counts for what is done meanwhile, and what is charged for it. */
async function priced(world: World, session: HostedSession, prompt: string) {
  const before = world.model.spent.turns;
  const turn = await session.turn(prompt);
  const after = world.model.spent.turns;
  const charged = await chargeOf(session, turn);
  const [calls, spent] = [after.calls - before.calls, after.tokens - before.tokens];
  return { turn, calls, spent, charged };
}

async function chargeOf(session: HostedSession, { verdict }: Turn): Promise<number> {
  const turnId = stringAt(verdict.data, "turnId");
  const settled = await session.heard(
    "a turn is settled",
    ({ type, data }) => type === "credits_settled" && data.turnId === turnId,
  );
  return Number(settled.data.chargedMicro);
}

const manyCalls: Check = {
  name: "usage-calls",
  title: "P9: 13 model calls in one turn are charged as the model counts them",
  run: async (world) => {
    const session = await world.session({ mode: "yolo" });
    const { calls, spent, charged } = await priced(
      world,
      session,
      `[[runs: ${CALLS - 1} | echo step]]`,
    );
    must(calls === CALLS, `the model is called ${CALLS} times`, calls);
    must(charged === spent, "all model calls are charged, each once", { charged, spent });
  },
};

const manyTurns: Check = {
  name: "usage-turns",
  title: "P9: each of three turns is charged as the model counts it",
  run: async (world) => {
    const session = await world.session();
    const seen = [];
    for (const word of ["one", "two", "three"]) {
      const { spent, charged } = await priced(world, session, `[[say: ${word}]]`);
      seen.push({ charged, spent });
    }
    const isEqual = seen.every(({ spent, charged }) => spent === charged && spent > 0);
    must(isEqual, "each turn is charged for itself", seen);
  },
};

export const USAGE: readonly Check[] = [manyCalls, manyTurns];

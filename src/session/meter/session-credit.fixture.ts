import type { Refusal } from "../../core/error.ts";
import type { Command } from "../../core/session/command.ts";
import { newPrompt } from "../../core/session/life.fixture.ts";
import { Stage, value } from "../stage.fixture.ts";
import { given } from "../world.fixture.ts";
import { SessionCredit } from "./session-credit.ts";
import { granting, TENANT, Till } from "./till.fixture.ts";

/** The credits of the first session, over a till whose commits are made by hand. */
export async function credited(
  grantedMicro: number,
  answer: () => Promise<Refusal | null>,
  sessions = 1,
) {
  const till = await Till.open(sessions);
  if (grantedMicro > 0) value(await till.meter.grant(TENANT, granting("g", grantedMicro)));
  const stage = await Stage.open();
  const said: Command[] = [];
  const { key } = till.session(0);
  const seat = {
    key,
    get decided() {
      return till.session(0).session;
    },
    submit: (command: Command) => {
      said.push(command);
      return answer();
    },
  };
  // No time passes.
  const clock = { nowMs: () => till.nowMs, after: () => () => {} };
  const world = { ...stage.world, meter: till.meter, clock };
  const openMicro = async () => value(await till.meter.balance(TENANT)).openMicro;
  return { till, credit: new SessionCredit(world, seat), said, openMicro };
}

/** A prompt of ada's that is next. */
export async function waiting(till: Till) {
  await till.commit(0, "prompt", newPrompt("p"));
  return given(till.session(0).session.queue[0] ?? null);
}

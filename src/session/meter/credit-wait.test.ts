import { describe, expect, it } from "vitest";
import { parseUserId } from "../../core/id.ts";
import type { Command } from "../../core/session/command.ts";
import { turnId } from "../../core/session/life.fixture.ts";
import { value } from "../stage.fixture.ts";
import { given } from "../world.fixture.ts";
import { credited, waiting } from "./session-credit.fixture.ts";
import { ADA, granting, OPERATOR, TENANT } from "./till.fixture.ts";

const BEN = given(parseUserId("ben"));

/** The head of a queue that tries to begin whenever it is woken, as the session has it do. */
async function head(grantedMicro: number, budgetMicro: number | null = null) {
  const world = await credited(grantedMicro, async () => null, 2);
  const { till, credit } = world;
  if (budgetMicro !== null) await till.commit(0, "set_budget", { budgetMicro });
  const prompt = await waiting(till);
  const tries = { count: 0, canBegin: true };
  const again = () => {
    tries.count += 1;
    if (tries.canBegin) credit.begin(prompt, {}, again);
    return tries.canBegin;
  };
  const settles = (scope: string) =>
    expect.poll(() => credit.waitingForCredit).toMatchObject({ scope });
  return { ...world, prompt, tries, again, settles };
}

/** What clients were told that it waits for, in order. */
function toldOf(said: readonly Command[]) {
  return said.flatMap((command) =>
    command.type === "announce" && command.announcement.type === "credits_waiting"
      ? [command.announcement.data]
      : [],
  );
}

describe("a prompt that waits for credit", () => {
  it("is told of once for each limit, though they take turns", async () => {
    const { till, said, tries, again, settles } = await head(15);
    const { meter } = till;
    value(await meter.setBudget(TENANT, { of: "user", userId: ADA }, 8, OPERATOR));
    again();
    await settles("user");
    for (const name of ["x1", "x2", "x3"]) {
      const order = { ...till.order(1, turnId(name)), userId: BEN };
      value(await meter.reserve(order));
      value(await meter.setLimit(TENANT, "granted", OPERATOR));
      await settles("balance");
      await meter.giveBack(order.key, order.turnId);
      value(await meter.setLimit(TENANT, "granted", OPERATOR));
      await settles("user");
    }
    expect(tries.count).toBeGreaterThan(6);
    expect(toldOf(said).map(({ scope }) => scope)).toEqual(["user", "balance"]);
  });

  it("goes on if the session's budget was raised while it was being weighed", async () => {
    const { till, said, again } = await head(1_000, 5);
    again();
    await till.commit(0, "set_budget", { budgetMicro: 500 });
    // As the session does with every event; nothing further happens to it.
    again();
    await expect.poll(() => said.map(({ type }) => type)).toEqual(["begin_turn"]);
  });

  it("is said to wait as before while it is weighed again", async () => {
    const { till, credit, prompt, settles } = await head(1);
    const whileWeighed: unknown[] = [];
    const again = () => {
      credit.begin(prompt, {}, again);
      whileWeighed.push(credit.waitingForCredit?.scope ?? null);
      return true;
    };
    again();
    await settles("balance");
    value(await till.meter.grant(TENANT, granting("little", 1)));
    await expect.poll(() => credit.waitingForCredit).toMatchObject({ availableMicro: 2 });
    expect(whileWeighed).toEqual([null, "balance"]);
  });

  it("does not wait any more once there is credit, though it cannot begin just now", async () => {
    const { till, credit, tries, again, settles } = await head(1);
    again();
    await settles("balance");
    tries.canBegin = false;
    value(await till.meter.grant(TENANT, granting("more", 100)));
    await expect.poll(() => tries.count).toBe(2);
    expect(credit.waitingForCredit).toBeNull();
  });
});

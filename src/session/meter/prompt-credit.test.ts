import { describe, expect, it } from "vitest";
import { parseUserId } from "../../core/id.ts";
import type { Command } from "../../core/session/command.ts";
import { turnId } from "../../core/session/life.fixture.ts";
import { type Hand, promptOf, Stage, TENANT, value } from "../stage.fixture.ts";
import { given } from "../world.fixture.ts";
import { LedgerMeter } from "./ledger-meter.ts";
import { reservationRequest } from "./reservation-request.ts";
import { granting, priced } from "./till.fixture.ts";

const ADA = given(parseUserId("ada"));
const POOR = { code: "insufficient_credits" };

/** A session whose turns cost, ten each, and what its tenant was granted. */
async function paid(grantedMicro: number) {
  const parts = { prices: priced(), nowMs: Date.now, log: () => {} };
  const stage = await Stage.open({
    meter: (store) => new LedgerMeter({ ...parts, store, usualLimit: () => "granted" }),
  });
  const { meter } = stage.world;
  value(await meter.grant(TENANT, granting("g", grantedMicro)));
  const hand = await stage.created();
  const other = await stage.created();
  const holds = async () => {
    const { key, session } = other.live;
    const turn = { turnId: turnId("elsewhere"), userId: null };
    value(await meter.reserve(reservationRequest(key, session, turn)));
  };
  return { stage, meter, hand, holds };
}

/** A prompt between being weighed and being given to its session. */
async function weighed({ live }: Hand, line: string) {
  const actor = { kind: "client", clientId: null, userId: ADA, loopback: true } as const;
  const { start: _, ...bare } = promptOf(live, line);
  const prompt: Command<"prompt"> = { ...bare, actor };
  const weighing = Promise.withResolvers<Command<"prompt">>();
  const going = Promise.withResolvers<void>();
  const admitted = live.credit.admit(prompt, async (paid) => {
    weighing.resolve(paid);
    await going.promise;
    return live.submit(paid);
  });
  const { start, unpaid, unpaidNow } = await weighing.promise;
  const found = {
    ...(start && { start }),
    ...(unpaid && { unpaid }),
    ...(unpaidNow && { unpaidNow }),
  };
  const said = async () => {
    going.resolve();
    return (await admitted).refusal;
  };
  return { found, said };
}

describe("two prompts that are weighed at once, with credit for one", () => {
  it("P9: are both taken, and the second waits its turn", async () => {
    const { hand, meter } = await paid(15);
    const first = await weighed(hand, "hang");
    const second = await weighed(hand, "say second");
    expect(first.found).toMatchObject({ start: { reservedMicro: 10 } });
    expect(second.found).toEqual({ unpaidNow: expect.objectContaining(POOR) });
    expect(await first.said()).toBeNull();
    expect(await second.said()).toBeNull();
    expect(hand.live.session.queue).toHaveLength(1);
    expect(value(await meter.balance(TENANT))).toMatchObject({ openMicro: 10, openTurns: 1 });
  });

  it("are not, if the first has not come: the second is next then, and refused", async () => {
    const { hand, holds } = await paid(15);
    await holds();
    const second = await weighed(hand, "say second");
    expect(second.found).toEqual({ unpaidNow: expect.objectContaining(POOR) });
    expect(await second.said()).toMatchObject(POOR);
    expect(hand.live.session.queue).toEqual([]);
  });

  it("are both refused, if there is not enough for one", async () => {
    const { hand } = await paid(9);
    for (const line of ["say first", "say second"]) {
      const { found, said } = await weighed(hand, line);
      expect(found).toEqual({ unpaid: expect.objectContaining(POOR) });
      expect(await said()).toMatchObject(POOR);
    }
  });
});

describe("a prompt that is next in a session that has no agent just now", () => {
  it("is refused while another session holds the credit, as where there is one", async () => {
    const { hand, holds, meter } = await paid(15);
    await hand.turn("crash");
    expect(hand.status).not.toBe("ready");
    await holds();
    const { found, said } = await weighed(hand, "say next");
    expect(found).toEqual({ unpaidNow: expect.objectContaining(POOR) });
    expect(await said()).toMatchObject(POOR);
    await meter.giveBack(hand.live.key, turnId("elsewhere"));
    const later = await weighed(hand, "say next");
    // Nothing is set aside before it can begin.
    expect(later.found).toEqual({});
    expect(value(await meter.balance(TENANT))).toMatchObject({ openMicro: 0 });
    expect(await later.said()).toBeNull();
  });
});

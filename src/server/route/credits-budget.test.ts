import { describe, expect, it } from "vitest";
import { LedgerMeter, PriceTable } from "../../session/meter/index.ts";
import type { StreamClient } from "../http/stream-client.fixture.ts";
import { AS_ADA, granted, openPaid } from "./credits.fixture.ts";
import { creditsRoutes } from "./credits.ts";
import { statsRoute } from "./session.ts";
import { btwRoute } from "./side-work.ts";
import { heard, openWork, Work, workRoutes } from "./work.fixture.ts";

async function opened(budgetMicro: number | null) {
  const world = await openPaid();
  const work = await Work.made(world);
  await granted(world, 1_000);
  const budget = (micro: number | null) =>
    world.call("POST", `/credits/budgets/session:${work.id}`, { body: { budgetMicro: micro } });
  if (budgetMicro !== null) await budget(budgetMicro);
  const stream = await work.stream({ "last-event-id": "0" });
  const btw = (question: string) => work.call("POST", "/btw", { body: { question }, as: AS_ADA });
  return { world, work, stream, btw, budget };
}

const warnings = ({ frames }: StreamClient) =>
  frames.filter(({ event }) => event === "credits_warning").map(({ data }) => data.data);

describe("a session's own budget", () => {
  it("is warned of at 80 % by what was asked beside it, too", async () => {
    const { work, stream, btw, budget } = await opened(100);
    await work.turn("usage 1 2 input=50");
    await btw("say hello\nusage 1 2 input=29");
    await btw("say hello\nusage 1 2 input=1");
    const warning = await heard(stream, "credits_warning");
    expect(warning.data.data).toMatchObject({ scope: "session", usedMicro: 80, budgetMicro: 100 });
    // The line was passed once, and later charges do not pass it again.
    await work.turn("usage 1 2 input=1");
    expect((await btw("say hello\nusage 1 2 input=1")).status).toBe(200);
    // Of another budget it is told at once, and that comes after all that was told before.
    await budget(101);
    await stream.until(() => warnings(stream).some(({ budgetMicro }) => budgetMicro === 101));
    expect(warnings(stream)).toMatchObject([
      { usedMicro: 80, budgetMicro: 100 },
      { usedMicro: 82, budgetMicro: 101 },
    ]);
  });

  it("is warned of by a turn that passes the line only with what was asked before", async () => {
    const { work, stream, btw } = await opened(50);
    await btw("say hello\nusage 1 2 input=30");
    await work.turn("usage 1 2 input=10");
    const warning = await heard(stream, "credits_warning");
    expect(warning.data.data).toMatchObject({ scope: "session", usedMicro: 40, budgetMicro: 50 });
  });

  it("is warned of when it is set, if nearly all of it is used by then", async () => {
    const { work, stream, budget } = await opened(null);
    await work.turn("usage 1 2 input=17");
    await budget(22);
    await budget(20);
    const warning = await heard(stream, "credits_warning");
    expect(warning.data.data).toMatchObject({ scope: "session", usedMicro: 17, budgetMicro: 20 });
    await budget(19);
    await stream.until(() => warnings(stream).some(({ budgetMicro }) => budgetMicro === 19));
    expect(warnings(stream).map(({ budgetMicro }) => budgetMicro)).toEqual([20, 19]);
  });

  it("is shown with all that counts in it", async () => {
    const world = await openWork({
      routes: (daemon) => [
        ...workRoutes(daemon),
        ...creditsRoutes(daemon),
        btwRoute(daemon),
        statsRoute(daemon),
      ],
      stage: {
        meter: (store) =>
          new LedgerMeter({
            store,
            prices: new PriceTable({
              agents: { echo: { input: 1_000_000, output: 0, reserve: 10 } },
            }),
            usualLimit: () => "unlimited",
            nowMs: Date.now,
            log: () => {},
          }),
      },
    });
    const work = await Work.made(world);
    const path = `/credits/budgets/session:${work.id}`;
    await world.call("POST", path, { body: { budgetMicro: 90 } });
    await work.turn("usage 1 2 input=20");
    const question = "say hello\nusage 1 2 input=7";
    await work.call("POST", "/btw", { body: { question } });
    const stats = async () => (await work.call("GET", "/stats")).body.cost;
    expect(await stats()).toEqual({ chargedMicro: 27, openMicro: 0, budgetMicro: 90 });
    await work.admitted("hang");
    await work.live.until(({ running }) => running !== null);
    expect(await stats()).toEqual({ chargedMicro: 27, openMicro: 10, budgetMicro: 90 });
  });
});

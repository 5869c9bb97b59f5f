import { describe, expect, it } from "vitest";
import { AS_ADA, balance, granted, openPaid } from "./credits.fixture.ts";
import { Work } from "./work.fixture.ts";

async function opened(grantedMicro: number) {
  const world = await openPaid();
  const work = await Work.made(world);
  if (grantedMicro > 0) await granted(world, grantedMicro);
  const btw = (question: string) => work.call("POST", "/btw", { body: { question }, as: AS_ADA });
  const recap = () => work.call("POST", "/recap", { body: {}, as: AS_ADA });
  return { world, work, btw, recap };
}

describe("what is asked beside a session", () => {
  it("is refused with 402 without credit, as a prompt is", async () => {
    const { world, work, btw, recap } = await opened(10);
    await work.turn("usage 1 2 input=10");
    for (const asked of [await btw("say hello"), await recap()]) {
      expect([asked.status, asked.body.code]).toEqual([402, "insufficient_credits"]);
    }
    expect(await balance(world)).toMatchObject({ chargedMicro: 10, openMicro: 0 });
  });

  it("P9: is charged what it used, to whoever asked, in that session", async () => {
    const { world, work, btw } = await opened(100);
    const asked = await btw("say hello\nusage 1 2 input=7");
    expect([asked.status, asked.body.answer]).toEqual([200, "hello"]);
    expect(await balance(world)).toMatchObject({ chargedMicro: 7, openMicro: 0, openTurns: 0 });
    const { entries } = (await world.call("GET", "/credits/statement?after=1")).body;
    const whose = { sessionId: work.id, userId: "ada", aside: true };
    expect(entries).toMatchObject([
      { kind: "reserve", amountMicro: 10, ...whose },
      { kind: "charge", amountMicro: 7, agent: "echo", tokens: { input: 7 }, ...whose },
      { kind: "release", amountMicro: 3, ...whose },
    ]);
    expect(work.live.session.totals.chargedMicro).toBe(0);
  });

  it("P5: holds nothing afterwards, however it ended", async () => {
    const { world, btw } = await opened(100);
    for (const script of ["fail -32603 no", "say no\nrefuse", "usage 1 2 input=4\ncrash 3"]) {
      expect((await btw(script)).body.answer).toBeNull();
    }
    const rest = { openMicro: 0, openTurns: 0 };
    await expect.poll(() => balance(world)).toMatchObject(rest);
  });

  it("counts in the budgets of the session and of the user", async () => {
    const { world, work, btw } = await opened(100);
    const budget = (scope: string, budgetMicro: number | null) =>
      world.call("POST", `/credits/budgets/${scope}`, { body: { budgetMicro } });
    await budget(`session:${work.id}`, 15);
    await btw("say hello\nusage 1 2 input=7");
    const refused = await work.prompt("say hello", { as: AS_ADA });
    expect(refused.body).toMatchObject({ scope: "session", availableMicro: 8 });
    await budget(`session:${work.id}`, null);
    await budget("user:ada", 16);
    expect((await btw("say hello")).body).toMatchObject({ scope: "user", availableMicro: 9 });
  });
});

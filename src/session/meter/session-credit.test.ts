import { describe, expect, it } from "vitest";
import { refusal } from "../../core/error.ts";
import { fail } from "../../core/result.ts";
import type { Command, CommandData } from "../../core/session/command.ts";
import { decide } from "../../core/session/decide.ts";
import { writeEvents } from "../actor/written.ts";
import { value } from "../stage.fixture.ts";
import { given } from "../world.fixture.ts";
import { credited, waiting } from "./session-credit.fixture.ts";

/** What the session's own log says of a command, and the same heard by the session's credits. */
async function heard<Type extends "usage" | "agent_status">(
  { till, credit }: Pick<Awaited<ReturnType<typeof credited>>, "till" | "credit">,
  type: Type,
  data: CommandData[Type],
): Promise<void> {
  const { session } = till.session(0);
  const actor = { kind: "agent", activation: session.activation } as const;
  // A command is what its type says it has, and the time and the caller beside it.
  const command = { type, ...data, actor, atMs: till.nowMs } as Command;
  const written = writeEvents(decide(session, command).events, 1);
  await till.commit(0, type, data);
  credit.durable(written);
}

type World = Awaited<ReturnType<typeof credited>>;

/** The agent has used more than its turn holds. */
async function overspends(world: World): Promise<void> {
  await world.till.begin(0);
  const { turnId } = given(world.till.session(0).session.running);
  const tokens = { input: 0, output: 15, cachedRead: 0, cachedWrite: 0, thought: 0 };
  await heard(world, "usage", { turnId, usage: { model: null, used: null, size: null, tokens } });
}

async function ends(world: World): Promise<void> {
  const { turnId } = given(world.till.session(0).session.running);
  const report = { status: "turn_complete", turnId, stopReason: "end_turn" } as const;
  await heard(world, "agent_status", report);
}

describe("P5, P9: what a session gives back", () => {
  it.each([
    ["before", "no_turn_running"],
    ["before", "store_unavailable"],
    ["after", "store_unavailable"],
  ] as const)(
    "is a slice that the log does not have: the verdict came %s the answer %s",
    async (when, code) => {
      const world: World = await credited(100, async () => {
        if (when === "before") await ends(world);
        return refusal(code);
      });
      await overspends(world);
      await expect.poll(() => world.said.map(({ type }) => type)).toContain("reserve_slice");
      if (when === "after") expect(await world.openMicro()).toBe(20);
      if (when === "after") await ends(world);
      await expect.poll(world.openMicro).toBe(0);
      const lines = (await world.till.frail.lines()).filter(({ kind }) => kind !== "grant");
      const held = lines.map((one) => (one.kind === "reserve" ? 1 : -1) * one.amountMicro);
      expect(held.reduce((sum, one) => sum + one, 0)).toBe(0);
    },
  );

  it("is a slice of which nobody knew, when the verdict came before the next try", async () => {
    const world = await credited(100, async () => null);
    const { meter } = world.till;
    const slice = meter.slice.bind(meter);
    meter.slice = async (...order) => {
      value(await slice(...order));
      await ends(world);
      return fail("store_unavailable", { reason: "it did not answer" });
    };
    await overspends(world);
    await expect.poll(world.openMicro).toBe(0);
  });

  it("is what was set aside for a prompt of a session that is over by then", async () => {
    const { till, credit, said, openMicro } = await credited(100, async () => null);
    credit.begin(await waiting(till), {}, () => false);
    credit.end();
    await expect.poll(() => till.frail.lines()).toHaveLength(3);
    expect(await openMicro()).toBe(0);
    expect(said).toEqual([]);
  });
});

describe("a turn of a tool", () => {
  it("costs nothing and needs no credit, because no model is asked", async () => {
    const { till, credit, said } = await credited(0, async () => null);
    credit.begin(await waiting(till), { slash: "tool" }, () => false);
    const { price, ...start } = { price: null, ...Object(said[0]).start };
    expect(start).toMatchObject({ reservedMicro: 0, slash: "tool" });
    expect(price).toMatchObject({ input: 0, output: 0, perTurn: 0 });
  });
});

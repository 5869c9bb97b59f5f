import { describe, expect, it } from "vitest";
import { NO_TOKENS } from "../../core/price.ts";
import { value } from "../stage.fixture.ts";
import { PriceTable } from "./price-table.ts";
import { granting, TENANT, Till } from "./till.fixture.ts";

const PRICES = new PriceTable({
  models: { small: { perTurn: 1, reserve: 10 }, large: { perTurn: 7, reserve: 10 } },
});

async function opened() {
  const till = await Till.open(1, PRICES);
  value(await till.meter.grant(TENANT, granting("g", 1_000)));
  const sets = (modelId: string) => till.commit(0, "model", { change: { modelId } });
  await sets("small");
  const reports = async (model: string | null) => {
    const { turnId } = Object(till.session(0).session.running);
    const usage = { model, used: null, size: null, tokens: NO_TOKENS };
    await till.commit(0, "usage", { turnId, usage });
  };
  const charges = async () => {
    const lines = (await till.frail.lines()).filter(({ kind }) => kind === "charge");
    return lines.map(({ model, amountMicro }) => [model, amountMicro]);
  };
  return { till, sets, reports, charges };
}

describe("P9: the model that a charge names", () => {
  it("is the one that was priced when the turn began, if the agent tells nothing", async () => {
    const { till, charges } = await opened();
    await till.begin(0);
    await till.ends(0);
    expect(await charges()).toEqual([["small", 1]]);
  });

  it("is the agent's own where nobody has chosen one", async () => {
    const { till, charges } = await opened();
    const { key, session } = till.session(0);
    const surroundings = { agent: null, skills: null, persona: null, mcpServers: [] };
    till.logs.set(key.sessionId, {
      ...session,
      chosen: { ...session.chosen, modelConfig: { modelId: null } },
      surroundings: { ...surroundings, model: "large" },
    });
    await till.begin(0);
    await till.ends(0);
    expect(await charges()).toEqual([["large", 7]]);
  });

  it("is not one that was chosen in mid-turn, which is for the next turn", async () => {
    const { till, sets, charges } = await opened();
    await till.begin(0);
    await sets("large");
    await till.ends(0);
    await till.begin(0);
    await till.ends(0);
    expect(await charges()).toEqual([
      ["small", 1],
      ["large", 7],
    ]);
  });

  it("is the one that the agent told of in this turn, and not in an earlier one", async () => {
    const { till, reports, charges } = await opened();
    await till.begin(0);
    await reports("smaller");
    await till.ends(0);
    await till.begin(0);
    await reports(null);
    await till.ends(0);
    expect(await charges()).toEqual([
      ["smaller", 1],
      ["small", 1],
    ]);
  });

  it("is the last that was chosen, where an older log did not tell", async () => {
    const { till, sets, charges } = await opened();
    await till.begin(0);
    const { key, session } = till.session(0);
    const { turn } = session.connection;
    const { model: _, ...older } = Object(turn.currentReservation);
    const connection = { ...session.connection, turn: { ...turn, currentReservation: older } };
    till.logs.set(key.sessionId, { ...session, connection });
    await sets("large");
    await till.ends(0);
    expect(await charges()).toEqual([["large", 1]]);
  });
});

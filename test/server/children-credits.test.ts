// What children cost, with real prices and a real ledger.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { ECHO } from "./program.fixture.ts";
import { ServeProcess } from "./serve.fixture.ts";
import { asked, Talk } from "./talk.fixture.ts";

/** A micro-credit for each token, and two for those of the other agent; ten set aside at a time. */
const PRICES = {
  agents: {
    echo: { input: 1_000_000, output: 0, reserve: 10 },
    other: { input: 2_000_000, output: 0, reserve: 10 },
  },
};

/** A server with two agents, and a tenant that was granted this much. */
async function started(grantedMicro: number): Promise<ServeProcess> {
  const folder = mkdtempSync(join(tmpdir(), "fermata-prices-"));
  const file = join(folder, "prices.json");
  writeFileSync(file, JSON.stringify(PRICES));
  const other = { command: process.execPath, args: [ECHO], title: "Other" };
  const flags = ["--max-children", "4", "--prices", file];
  const server = await ServeProcess.start({ flags, agents: { other } });
  onTestFinished(async () => {
    await server.end();
    rmSync(folder, { recursive: true, force: true });
  });
  await asked(server, "POST", "/credits/limit", { limit: "granted" });
  await asked(server, "POST", "/credits/grants", { amountMicro: grantedMicro, id: "g" });
  return server;
}

/** The model calls that an agent tells of in the middle of its turn, of so many tokens. */
function called(inputTokens: number): string {
  const content = { type: "text", text: "." };
  const _meta = { usage: { inputTokens, outputTokens: 0 } };
  return `update ${JSON.stringify({ sessionUpdate: "agent_message_chunk", content, _meta })}`;
}

function delegating(agent: string, ...script: readonly string[]): string {
  return `mcp delegate ${JSON.stringify({ agent, task: script.join("\n") })}`;
}

const ENTRIES = z.array(
  z.object({ kind: z.enum(["grant", "reserve", "charge", "release"]), amountMicro: z.number() }),
);

/** What the one settlement in a log says. */
function settled(log: string) {
  const [, data = "{}"] = /"type":"credits_settled","data":({[^}]*})/.exec(log) ?? [];
  const amounts: Readonly<Record<string, unknown>> = JSON.parse(data);
  const { reservedMicro, chargedMicro, releasedMicro } = amounts;
  expect(reservedMicro).toBe(Number(chargedMicro) + Number(releasedMicro));
  return { reservedMicro, chargedMicro, releasedMicro };
}

/** The tenant's balance when nothing is set aside any more; what it was is all accounted for. */
async function rested(server: ServeProcess) {
  const balance = () => asked(server, "GET", "/credits");
  await expect.poll(async () => (await balance()).openMicro).toBe(0);
  const { entries } = await asked(server, "GET", "/credits/statement");
  const sums = { grant: 0, reserve: 0, charge: 0, release: 0 };
  for (const { kind, amountMicro } of ENTRIES.parse(entries)) sums[kind] += amountMicro;
  expect(sums.reserve).toBe(sums.charge + sums.release);
  return balance();
}

describe("children that cost", { timeout: 60_000 }, () => {
  it("P9: cost at their own price, and are charged with their parent's turn", async () => {
    const server = await started(100);
    const talk = await Talk.begun(server);
    const log = await talk.prompt(
      '"type":"turn_complete"',
      called(3),
      delegating("other", called(9)),
    );
    expect(settled(log)).toMatchObject({ chargedMicro: 3 + 2 * 9 });
    // A slice that was on its way when the turn ended is given back.
    const { availableMicro } = await rested(server);
    expect(availableMicro).toBe(79);
  });

  it("P9: end with their parent when the credit is used up: the child first, then it", async () => {
    const server = await started(30);
    const talk = await Talk.begun(server);
    const log = await talk.prompt(
      '"type":"turn_error"',
      delegating("other", called(8), called(20), "hang"),
    );
    expect(log).toMatch(/"type":"child_session_ended".*"state":"Halted".*"budget_exhausted"/);
    expect(log).toMatch(/"type":"turn_error".*"code":"budget_exhausted"/);
    const places = ["child_session_ended", "prompt_cancelled", "turn_error"].map((type) => {
      return log.indexOf(`"type":"${type}"`);
    });
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    const { chargedMicro } = settled(log);
    expect(await rested(server)).toMatchObject({
      availableMicro: 30 - Number(chargedMicro),
      chargedMicro,
      openTurns: 0,
    });
  });
});

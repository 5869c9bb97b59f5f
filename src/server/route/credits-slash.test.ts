import { describe, expect, it } from "vitest";
import { ok } from "../../core/result.ts";
import { SNAPSHOT } from "../../core/slash/snapshot.fixture.ts";
import { PriceTable } from "../../session/meter/index.ts";
import { NO_TOOLS } from "../../session/world.fixture.ts";
import type { ToolCall, Tools } from "../../tool/tool.ts";
import { AS_ADA, AS_BEN, budget, granted, openPaid } from "./credits.fixture.ts";
import { Shelf, twoAgents } from "./taught.fixture.ts";
import { heard, Work } from "./work.fixture.ts";

const CALL: ToolCall = {
  name: "shell",
  title: "ls",
  kind: "execute",
  input: { command: "ls" },
  locations: [],
};

const TOOLS: Tools = {
  ...NO_TOOLS,
  callOf: async () => ok(CALL),
  run: async () => ({ isError: false, text: "a.txt" }),
};

/** Ada has credit and Ben has none, in a session with skills and an agent's own commands. */
async function withCommands() {
  const shelf = new Shelf();
  shelf.skills = SNAPSHOT;
  const settings = { enableShell: true };
  const world = await openPaid({ stage: { loader: shelf.loader, tools: TOOLS, settings } });
  const work = await Work.made(world);
  await granted(world, 1_000);
  const stream = await work.stream({ "last-event-id": "0" });
  await work.turn("/reload_skills", { as: AS_ADA });
  await work.turn("commands plan\nsay ok", { as: AS_ADA });
  await budget(world, "user:ben", 0);
  return { world, work, stream };
}

describe("a line with a slash, of somebody without credit", () => {
  it.each([
    ["an agent's own command", "/plan say ben"],
    ["a skill that asks the model", "/ci say ben"],
  ])("is answered with that when it is next, and holds up nobody: %s", async (_what, line) => {
    const { work, stream } = await withCommands();
    const promptId = await work.admitted(line, { as: AS_BEN });
    const { data } = (await heard(stream, "command_result", promptId)).data;
    expect(data).toMatchObject({ status: "error", code: "insufficient_credits" });
    await heard(stream, "turn_complete", promptId);
    await heard(stream, "turn_complete", await work.admitted("say ada", { as: AS_ADA }));
    const types = stream.frames.map(({ event }) => event);
    expect(types).not.toContain("credits_waiting");
    const told = stream.frames.map(({ data: said }) => JSON.stringify(said.data)).join("");
    expect(told).not.toContain('"text":"ben"');
  });

  it.each([
    ["an agent's own command", "/plan say paid"],
    ["a skill that asks the model", "/ci say paid"],
  ])("is a turn like others for whoever can pay for it: %s", async (_what, line) => {
    const { work, stream } = await withCommands();
    const promptId = await work.admitted(line, { as: AS_ADA });
    await heard(stream, "turn_complete", promptId);
    const held = stream.frames.filter(({ event }) => event === "credits_reserved");
    expect(held.at(-1)?.data.data).toMatchObject({ amountMicro: 10 });
  });

  it("runs if it is a skill that runs a tool, which costs nothing", async () => {
    const { work, stream } = await withCommands();
    const promptId = await work.admitted("/sh ls", { as: AS_BEN });
    const asked = await heard(stream, "permission_request");
    const body = { outcome: { outcome: "selected", optionId: "allow" } };
    const path = `/permission/${asked.data.data.requestId}`;
    expect((await work.call("POST", path, { body })).status).toBe(200);
    await heard(stream, "turn_complete", promptId);
    const told = stream.frames.map(({ data }) => JSON.stringify(data.data)).join("");
    expect(told).toContain("a.txt");
  });
});

const PRICES = new PriceTable({
  models: { "echo-large": { reserve: 1 } },
  agents: { echo: { reserve: 10 }, other: { reserve: 1 } },
});

/** Something of ada's is at work, and ben has credit for what is cheap, which it is not. */
async function dear() {
  const world = await openPaid({ prices: PRICES, ...twoAgents() });
  const work = await Work.made(world);
  await granted(world, 1_000);
  await budget(world, "user:ben", 5);
  const stream = await work.stream({ "last-event-id": "0" });
  await work.admitted("ask command=ls", { as: AS_ADA });
  const asked = await heard(stream, "permission_request");
  const ends = () =>
    work.call("POST", `/permission/${asked.data.data.requestId}`, {
      body: { outcome: { outcome: "cancelled" } },
    });
  const says = async (line: string, as = AS_BEN) => (await work.prompt(line, { as })).status;
  expect(await says("say dear")).toBe(402);
  return { work, stream, ends, says };
}

describe("a prompt behind a command", () => {
  it.each(["/model echo-large", "/agent other"])(
    "is taken if that may make it cheaper: %s",
    async (line) => {
      const { work, stream, ends, says } = await dear();
      expect(await says(line)).toBe(202);
      const promptId = await work.admitted("say cheap", { as: AS_BEN });
      await ends();
      await heard(stream, "turn_complete", promptId);
      expect(stream.frames.map(({ event }) => event)).not.toContain("credits_waiting");
    },
  );

  it.each(["/help", "/skills", "/modelling"])("is refused as before if not: %s", async (line) => {
    const { says } = await dear();
    expect(await says(line)).toBe(202);
    expect(await says("say dear")).toBe(402);
  });

  it("is refused as before if it is somebody else's", async () => {
    const { says } = await dear();
    expect(await says("/model echo-large", AS_ADA)).toBe(202);
    expect(await says("say dear")).toBe(402);
  });
});

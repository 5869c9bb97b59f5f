import { describe, expect, it } from "vitest";
import { LedgerMeter, PriceTable } from "../../session/meter/index.ts";
import { echo } from "../../session/stage.fixture.ts";
import { value } from "../../store/kit/expect.ts";
import type { SessionStore } from "../../store/store.ts";
import { ACME, BY_OWNER, OPERATOR, user } from "../identity/identity.fixture.ts";
import type { Person } from "../identity/people.fixture.ts";
import { calls } from "./credits.fixture.ts";
import { PolicyTeam, type Room } from "./policy.fixture.ts";
import { heard } from "./work.fixture.ts";

/** Ways of asking for something that is looked at only when it is next. */
const LINES = ["/skill review now", "/agent other", "/sh ls", "/new", "/save-and-close"];

function twoAgents() {
  const [name, profile] = echo();
  const profiles = new Map([
    [name, profile],
    ["other", profile],
  ]);
  const settings = { agentNames: [name, "other"], enableShell: true, pendingPromptsMax: 9 };
  return { stage: { profiles, settings } };
}

/** Queues all that a member can behind an owner's turn, and lets it come up after the change. */
async function queuedBehind(
  team: PolicyTeam,
  room: Room,
  who: Person,
  change: () => Promise<unknown>,
) {
  const held = await room.asked(team.ada, "question Ready?", "say done");
  const lines: string[] = [];
  for (const line of LINES) lines.push(await room.admitted(who, line));
  const prompt = await room.admitted(who, "say hello");
  await change();
  await room.answer(team.ada, held);
  for (const line of lines) {
    const { data } = (await heard(room.stream, "command_result", line)).data;
    expect(data, line).toMatchObject({ status: "error", code: "policy_forbids" });
  }
  expect(await room.verdict(prompt)).toMatchObject({
    event: "turn_error",
    data: { data: { code: "policy_forbids" } },
  });
  expect(room.all("agent_changed")).toEqual([]);
  await room.verdict(await room.admitted(team.ada, "say goes on"));
}

describe("P8: what waits of a user who lost their place does not run", () => {
  it("not of a member who was removed", async () => {
    const team = await PolicyTeam.open(twoAgents());
    const room = await team.session(team.ada, { mode: "yolo" });
    const { members } = team.people;
    await queuedBehind(team, room, team.mel, () =>
      value(members.remove(ACME, user("mel"), OPERATOR)),
    );
  });

  it("not of a member who was made a viewer", async () => {
    const team = await PolicyTeam.open(twoAgents());
    const room = await team.session(team.ada, { mode: "yolo" });
    const { members } = team.people;
    await queuedBehind(team, room, team.mel, () =>
      value(members.put(ACME, user("mel"), "viewer", BY_OWNER)),
    );
  });

  it("not of a member with whom the session is not shared any more", async () => {
    const team = await PolicyTeam.open(twoAgents());
    const room = await team.session(team.ada, { mode: "yolo", visibility: "private" });
    const share = (...sharedWith: readonly string[]) => {
      const body = { visibility: "private", sharedWith };
      return team.ada.call("POST", `${room.path}/visibility`, { body });
    };
    expect((await share("mel")).status).toBe(200);
    await queuedBehind(team, room, team.mel, () => share());
  });
});

describe("P8: a prompt that waits for credit obeys the policy of the moment it begins", () => {
  const prices = new PriceTable({ agents: { echo: { input: 1_000_000, output: 0, reserve: 10 } } });
  const usual = { nowMs: Date.now, log: () => {} };
  const meter = (store: SessionStore) =>
    new LedgerMeter({ store, prices, usualLimit: () => "granted", ...usual });

  it.each([
    ["a prompt", "say hello", { agents: [] }],
    ["a skill", "/rv say hello", { skills: [] }],
  ])("%s", async (_what, line, member) => {
    const team = await PolicyTeam.open({ stage: { meter } });
    const grant = (amountMicro: number) =>
      team.ada.call("POST", "/credits/grants", { body: { amountMicro } });
    expect((await grant(25)).status).toBe(200);
    const room = await team.session(team.ada);
    const other = await team.session(team.ada);
    const open = await other.asked(team.ada, "question Ready?", "say done");
    const held = await room.asked(team.ada, "question Ready?", calls(10), "say done");
    const waiting = await room.admitted(team.mel, line);
    // The turn before it uses ten, and ten are held beside it.
    await room.answer(team.ada, held);
    await room.stream.until(() => room.all("credits_waiting").length === 1);
    await team.policy({ roles: { member } });
    expect((await grant(100)).status).toBe(200);
    expect(await room.verdict(waiting)).toMatchObject({
      event: "turn_error",
      data: { data: { code: "policy_forbids" } },
    });
    await other.answer(team.ada, open);
  });
});

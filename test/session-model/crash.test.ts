import { describe, expect, it } from "vitest";
import { isObject, type JsonObject } from "../../src/core/json.ts";
import { sharedServer } from "../server/serve.fixture.ts";
import { asked, type Said, SessionCaller } from "./caller.fixture.ts";
import { dataOf, ofType, verdictOf } from "./ear.fixture.ts";
import { echoAgent, Files, skill } from "./files.fixture.ts";

const server = sharedServer({ agents: { second: echoAgent() } });

/** How often it is tried: at which moment the server dies is up to the machine. */
const TRIES = 3;

interface Log {
  readonly said: Said;
  readonly events: readonly JsonObject[];
}

/** All events of the session, in which this prompt has exactly one answer and verdict (P2). */
async function logOf(session: SessionCaller, { promptId }: JsonObject): Promise<Log> {
  const said = await session.heard({ promptId, lastEventId: 0 });
  const last = await session.say("/status");
  const { events } = await session.heard({ promptId: last.promptId, lastEventId: 0 });
  expect(events.filter(verdictOf(promptId)).map(dataOf)).toMatchObject([
    { stopReason: "end_turn" },
  ]);
  const answers = events.filter(ofType("command_result")).map(dataOf);
  expect(answers.filter((data) => data.promptId === promptId)).toHaveLength(1);
  return { said, events };
}

/** The sessions that `/new` has made so far. */
async function madeByCommand(): Promise<readonly unknown[]> {
  const cwd = encodeURIComponent(server().workspace);
  const route = `/workspace/${cwd}/sessions?sourceType=command&size=100`;
  const { sessions } = (await asked(server(), "GET", route)).body;
  return Array.isArray(sessions)
    ? sessions.filter(isObject).map(({ sessionId }) => sessionId)
    : expect.fail("there is no list");
}

/** Resolves when the session is not there any more. */
async function gone(session: SessionCaller): Promise<void> {
  while ((await session.ask("GET", "/fields")).status !== 404) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function expectReloaded(session: SessionCaller, { events }: Log, name: string) {
  expect(events.filter(ofType("skills_reloaded")).map(dataOf)).toMatchObject([
    { from: { version: 1 }, to: { version: 2 } },
  ]);
  expect(await session.fields()).toMatchObject({
    skill_snapshot: { snapshot_version: 2 },
    reload_count: 1,
  });
  expect((await session.say("/skills")).text).toContain(name);
}

async function expectMade({ said }: Log, before: readonly unknown[]) {
  expect(said.result).toMatchObject({ code: "session_created" });
  const { sessionId } = Object(said.result.data);
  const made = await madeByCommand();
  expect(made.filter((id) => !before.includes(id))).toEqual([sessionId]);
  const session = await SessionCaller.load(server(), sessionId);
  expect((await session.say("say hello")).text).toBe("hello");
}

async function expectOtherAgent(session: SessionCaller, { events }: Log) {
  expect(events.filter(ofType("active_agent_changed")).map(dataOf)).toMatchObject([
    { from: "echo", to: "second" },
  ]);
  expect(await session.fields()).toMatchObject({ active_agent: "second" });
  expect((await session.say("recall")).text).toContain("<conversation_so_far>");
}

function expectClosed({ said, events }: Log) {
  expect(said.result).toMatchObject({
    code: "session_saved",
    data: { persisted: true, turnsDrained: 0 },
  });
  expect(events.filter(ofType("session_closed"))).toHaveLength(1);
}

describe("P1: commands whose server dies right after they were admitted", () => {
  const tries = Array.from({ length: TRIES }, (_, index) => index + 1);

  it.each(tries)("are answered once and done once: try %i", { timeout: 60_000 }, async (number) => {
    const make = () => SessionCaller.create(server());
    const sessions = [await make(), await make(), await make(), await make()] as const;
    for (const session of sessions) await session.say("say hello");
    const before = await madeByCommand();
    const name = `skill-${number}`;
    new Files(server()).skill(name, skill("New.", "New."));
    const [reloading, making, changing, closing] = sessions;
    const admitted = await Promise.all([
      reloading.send("/reload_skills"),
      making.send("/new"),
      changing.send("/agent second"),
      closing.send("/save-and-close"),
    ]);
    await server().kill("SIGKILL");
    await server().restart();
    await expectReloaded(reloading, await logOf(reloading, admitted[0]), name);
    await expectMade(await logOf(making, admitted[1]), before);
    await expectOtherAgent(changing, await logOf(changing, admitted[2]));
    await gone(closing);
    const back = await SessionCaller.load(server(), closing.sessionId);
    expectClosed(await logOf(back, admitted[3]));
  });
});

// What public agents say, from recorded traces: the quirks are tried with every `npm test`, without
// the packages. How the traces are made is in CONTRIBUTING.md.

import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import type { JsonObject } from "../../src/core/json.ts";
import { sharedServer } from "../server/serve.fixture.ts";
import { HostedSession, spoken, updateOf } from "./hosted.ts";
import { objectsIn } from "./model/request.ts";
import { eventFrom, type WireEvent } from "./wire-client.ts";

const TRACES = fileURLToPath(new URL("traces", import.meta.url));
const PLAYER = fileURLToPath(new URL("play-trace.ts", import.meta.url));
const AGENTS = readdirSync(TRACES).map((name) => name.replace(/\.jsonl$/, ""));
const CHECKS = ["ask-shell", "new-file", "output", "kill-agent"] as const;

type Check = (typeof CHECKS)[number];

/** One server with an agent for each check, which says what the recorded one has said in it. */
function stage(agent: string): (check: Check) => Promise<HostedSession> {
  const counted = join(tmpdir(), `fermata-played-${randomUUID()}`);
  const agents = CHECKS.map((check) => {
    const args = [PLAYER, join(TRACES, `${agent}.jsonl`), check, join(counted, check)];
    return [`played-${check}`, { command: process.execPath, args }];
  });
  // Hooks run backwards: the server ends before its folder does.
  afterAll(() => rmSync(counted, { recursive: true, force: true }));
  // A login shell reads the files of its user, and has none here.
  const env = { HOME: counted };
  const server = sharedServer({ agents: Object.fromEntries(agents), env });
  return async (check) => {
    const session = await HostedSession.create(server().url, { agent: `played-${check}` });
    onTestFinished(() => session.leave());
    return session;
  };
}

/** Gemini tells a command by its title alone, so that it can be allowed once and not for good. */
const WITHOUT_KEY: ReadonlySet<string> = new Set(["gemini"]);

/** Its commands print to it alone. */
const WITHOUT_OUTPUT: ReadonlySet<string> = new Set(["gemini"]);

/** It tells what was printed in `rawOutput`, and nothing in the call's content. */
const IN_RAW_OUTPUT: ReadonlySet<string> = new Set(["codex-zed"]);

/** What the command of the trace prints; the command itself does not have these words. */
const PRINTED = "seen-out-mark-here";

function toolCalls(events: readonly WireEvent[]): readonly JsonObject[] {
  const updates = events.map(updateOf);
  return updates.filter(({ sessionUpdate }) => /^tool_call/.test(`${sessionUpdate}`));
}

/** All that a client is told which comes when the work is done. */
async function loaded(session: HostedSession): Promise<readonly WireEvent[]> {
  const { body } = await session.ask("POST", "/load", {});
  return [...objectsIn(body.compactedReplay), ...objectsIn(body.liveJournal)].map(eventFrom);
}

function verdicts(events: readonly WireEvent[]): readonly string[] {
  return events.flatMap(({ type }) => (/^turn_(?:complete|error)$/.test(type) ? [type] : []));
}

describe.each(AGENTS)("what %s says", (agent) => {
  const played = stage(agent);

  it("a command is asked about once, by its words", async () => {
    const session = await played("ask-shell");
    const promptId = await session.prompt("run it");
    const asked = await session.asked(promptId);
    const [key] = Array.isArray(asked.data.keys) ? asked.data.keys : [];
    if (WITHOUT_KEY.has(agent)) expect(key).toBeUndefined();
    else expect(key).toMatch(/^execute:echo ran > .*\/ran-mark\.txt$/);
    await session.vote(asked, "allow_once");
    const { asks, verdict } = await session.finish(promptId, "allow_once");
    expect(verdict).toMatchObject({ type: "turn_complete" });
    expect(asks).toHaveLength(1);
  });

  it("a new file is asked about once", async () => {
    const session = await played("new-file");
    const { asks, verdict } = await session.turn("write it");
    expect(verdict).toMatchObject({ type: "turn_complete" });
    expect(asks).toHaveLength(1);
  });

  it("P2: one verdict; what a command prints is seen live, in load and in an export", async () => {
    const session = await played("output");
    const { events, text, verdict } = await session.turn("print it");
    expect(verdict).toMatchObject({ type: "turn_complete" });
    expect(text).not.toContain(PRINTED);
    const told = await loaded(session);
    for (const all of [session.events, told]) expect(verdicts(all)).toEqual(["turn_complete"]);
    const { text: markdown } = await session.ask("GET", "/export?format=md");
    const calls = toolCalls(told).map(({ content, rawOutput }) => {
      return JSON.stringify(IN_RAW_OUTPUT.has(agent) ? rawOutput : content);
    });
    const places = [JSON.stringify(toolCalls(events)), calls.join("\n"), markdown];
    const isSeen = places.map((place) => place.includes(PRINTED));
    expect(isSeen).toEqual(places.map(() => !WITHOUT_OUTPUT.has(agent)));
  });

  it("P2, P3: when it dies in a turn, the next one has nothing of the old ones", async () => {
    const session = await played("kill-agent");
    const { text: first } = await session.turn("remember it");
    const { text: partial, verdict } = await session.turn("and go on");
    const { text, promptId } = await session.turn("what was it?");
    expect([first, partial]).toEqual(["I see", expect.stringContaining("PARTIAL-mark-2 ")]);
    expect(text).toBe("OLD-mark=yes ASKED-mark=yes");
    const after = session.events.slice(session.events.indexOf(verdict) + 1);
    expect(JSON.stringify(after)).not.toMatch(/I see|PARTIAL-mark|Remember OLD-mark/);
    const echoes = after.filter((event) => {
      return updateOf(event).sessionUpdate === "user_message_chunk";
    });
    expect(echoes.filter((event) => event.promptId !== promptId)).toEqual([]);
    expect(echoes.length).toBeLessThanOrEqual(1);
    const each = ["turn_complete", "turn_error", "turn_complete"];
    expect(verdicts(session.events)).toEqual(each);
    expect(spoken(await loaded(session))).toBe(`${first}${partial}${text}`);
  });
});

/** In the part behind `session/load`, the words of the turns before. */
const REPLAY = /"session\/load"(?:(?!"session\/prompt").)*"text":"I see"/s;

it("some traces have old turns sent again by `session/load`", () => {
  const replaying = AGENTS.filter((agent) => {
    return REPLAY.test(readFileSync(join(TRACES, `${agent}.jsonl`), "utf8"));
  });
  expect(replaying).toEqual(expect.arrayContaining(["copilot", "gemini", "goose"]));
});

// What public agents say, from recorded traces: the quirks are tried with every `npm test`, without
// the packages. How the traces are made is in CONTRIBUTING.md.

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { ServeProcess } from "../server/serve.fixture.ts";
import { HostedSession, updateOf } from "./hosted.ts";

const TRACES = fileURLToPath(new URL("traces", import.meta.url));
const PLAYER = fileURLToPath(new URL("play-trace.ts", import.meta.url));
const AGENTS = readdirSync(TRACES).map((name) => name.replace(/\.jsonl$/, ""));

/** A session of an agent that says what the recorded one has said in this check. */
async function played(agent: string, check: string): Promise<HostedSession> {
  const counted = mkdtempSync(join(tmpdir(), "fermata-played-"));
  onTestFinished(() => rmSync(counted, { recursive: true }));
  const args = [PLAYER, join(TRACES, `${agent}.jsonl`), check, counted];
  const agents = { [`played-${agent}`]: { command: process.execPath, args } };
  const server = await ServeProcess.start({ agents, flags: ["--agent", `played-${agent}`] });
  onTestFinished(() => server.end());
  const session = await HostedSession.create(server.url);
  onTestFinished(() => session.leave());
  return session;
}

/** Gemini tells a command by its title alone, so that it can be allowed once and not for good. */
const WITHOUT_KEY: ReadonlySet<string> = new Set(["gemini"]);

/** Its commands print to it alone. */
describe("a command of a public agent", () => {
  it.each(AGENTS)("%s: is asked about once, by its words", async (agent) => {
    const session = await played(agent, "ask-shell");
    const promptId = await session.prompt("run it");
    const asked = await session.asked(promptId);
    const [key] = Array.isArray(asked.data.keys) ? asked.data.keys : [];
    if (WITHOUT_KEY.has(agent)) expect(key).toBeUndefined();
    else expect(key).toMatch(/^execute:echo ran > .*\/ran-mark\.txt$/);
    await session.vote(asked, "allow_once");
    const { asks, verdict } = await session.finish(promptId, "allow_once");
    expect(asks).toHaveLength(1);
    expect(verdict.type).toBe("turn_complete");
  });

  it.each(AGENTS)("P2: %s: has one verdict, however it is told", async (agent) => {
    const session = await played(agent, "output");
    const { verdict, events } = await session.turn("print it");
    expect(verdict.type).toBe("turn_complete");
    const kinds = events.map((event) => updateOf(event).sessionUpdate);
    expect(kinds).toContain("agent_message_chunk");
  });
});

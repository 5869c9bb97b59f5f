import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/core/json.ts";
import { ECHO } from "../server/program.fixture.ts";
import { sharedServer } from "../server/serve.fixture.ts";
import { SessionCaller } from "./caller.fixture.ts";
import { dataOf, ofType } from "./ear.fixture.ts";
import { echoAgent, Files, mcpServer, skill } from "./files.fixture.ts";

const OTHER = fileURLToPath(new URL("other-version.fixture.ts", import.meta.url));
const STATE = ["--state", ".echo"];
const server = sharedServer();
const files = () => new Files(server());

function agentOfVersion(version: string) {
  files().home("agents.json", {
    subject: { command: process.execPath, args: [OTHER, ECHO, version, ...STATE] },
    second: echoAgent(),
  });
}

function nameServers(mcpServers: object) {
  files().home("mcp.json", { mcpServers });
}

async function restart() {
  await server().kill("SIGKILL");
  await server().restart();
}

/** A session that has had a turn, in a world that is always the same at first. */
async function settled(): Promise<SessionCaller> {
  agentOfVersion("1.0.0");
  nameServers({ tester: mcpServer() });
  files().skill("deploy", skill("Ships it.", "Deploy from main."));
  files().write("SOUL.md", "Be kind.");
  await restart();
  const session = await SessionCaller.create(server(), { agent: "subject" });
  await session.say("say hello");
  return session;
}

/** What the session said about drift from its beginning until now. */
async function drifts(session: SessionCaller): Promise<readonly JsonObject[]> {
  const { promptId } = await session.say("say that was it");
  const { events } = await session.heard({ promptId, lastEventId: 0 });
  return events.filter(ofType("session_drift")).map(dataOf);
}

const CHANGES = [
  {
    what: "agent",
    change: () => agentOfVersion("2.0.0"),
    from: "Echo 1.0.0",
    to: "Echo 2.0.0",
  },
  {
    what: "skills",
    change: () => files().skill("deploy", skill("Ships it.", "Deploy from anywhere.")),
    from: expect.stringMatching(/^[0-9a-f]{64}$/),
    to: expect.stringMatching(/^[0-9a-f]{64}$/),
  },
  {
    what: "persona",
    change: () => files().write("SOUL.md", "Be brief."),
    from: expect.stringMatching(/^[0-9a-f]{64}$/),
    to: expect.stringMatching(/^[0-9a-f]{64}$/),
  },
  {
    what: "mcp_servers",
    change: () => nameServers({ tester: mcpServer("--pages"), more: mcpServer() }),
    from: expect.stringMatching(/^tester [0-9a-f]{8}$/),
    to: expect.stringMatching(/^tester [0-9a-f]{8}, more [0-9a-f]{8}$/),
  },
];

describe("drift since a session last had its agent", { timeout: 60_000 }, () => {
  it("is announced once for each thing that changed, and the session is as it was", async () => {
    const session = await settled();
    const { conversation_state: _, ...before } = await session.steadyFields();
    const announced: object[] = [];
    for (const { change, ...drift } of CHANGES) {
      change();
      await restart();
      announced.push({ changes: [drift] });
      // All that was announced so far: what came before is not announced again.
      expect(await drifts(session)).toMatchObject(announced);
    }
    await restart();
    expect(await drifts(session)).toHaveLength(CHANGES.length);
    const { conversation_state: __, ...after } = await session.steadyFields();
    expect(after).toEqual(before);
  });

  it("is announced of the model, if the agent has changed it by itself", async () => {
    const session = await settled();
    await session.say("config model echo-large");
    await restart();
    const change = { what: "model", from: "echo-small", to: "echo-large" };
    expect(await drifts(session)).toMatchObject([{ changes: [change] }]);
    expect(await session.fields()).toMatchObject({ model_config: { name: null } });
  });

  it("is one event, however much has changed", async () => {
    const session = await settled();
    for (const { change } of CHANGES) change();
    await restart();
    expect(await drifts(session)).toMatchObject([
      { changes: CHANGES.map(({ what }) => ({ what })) },
    ]);
  });

  it("is none where nothing has changed, or what somebody has changed on purpose", async () => {
    const session = await settled();
    await restart();
    expect(await drifts(session)).toEqual([]);
    files().skill("deploy", skill("Ships it.", "Deploy from anywhere."));
    files().write("SOUL.md", "Be brief.");
    await session.say("/reload_skills");
    await session.say("/reload_persona");
    await session.say("/model echo-cave");
    await restart();
    expect(await drifts(session)).toEqual([]);
    await session.say("/agent second");
    expect(await drifts(session)).toEqual([]);
  });
});

import { type DaemonClient, DaemonHttpError } from "@qwen-code/sdk/daemon";
import { beforeAll, describe, expect, it } from "vitest";
import { sharedServer } from "../server/serve.fixture.ts";
import { clientOf, newSession, script } from "./session.fixture.ts";

const server = sharedServer();

type Ask = (client: DaemonClient, id: string) => Promise<unknown>;

/** What can be asked of a session, and is answered with 404 where there is none. */
const ASKS: Readonly<Record<string, Ask>> = {
  load: (client, id) => client.loadSession(id),
  resume: (client, id) => client.resumeSession(id),
  status: (client, id) => client.sessionStatus(id),
  heartbeat: (client, id) => client.heartbeat(id),
  "heartbeat of a client": (client, id) => client.heartbeat(id, "client_somebody"),
  prompt: (client, id) => client.prompt(id, script("say hello")),
  cancel: (client, id) => client.cancel(id),
  metadata: (client, id) => client.updateSessionMetadata(id, { displayName: "mine" }),
  model: (client, id) => client.setSessionModel(id, "echo-large"),
  "approval mode": (client, id) => client.setSessionApprovalMode(id, "default"),
  events: (client, id) => client.subscribeEvents(id).next(),
  context: (client, id) => client.sessionContext(id),
  "context usage": (client, id) => client.sessionContextUsage(id),
  stats: (client, id) => client.sessionStats(id),
  tasks: (client, id) => client.sessionTasks(id),
  commands: (client, id) => client.sessionSupportedCommands(id),
  "pending prompts": (client, id) => client.getPendingPrompts(id),
  recap: (client, id) => client.recapSession(id),
  btw: (client, id) => client.btwSession(id, "what now?"),
  export: (client, id) => client.exportSession(id, { format: "json" }),
  branch: (client, id) => client.branchSession(id),
  transcript: (client, id) => client.getSessionTranscriptPage(id),
};

const UNKNOWN = crypto.randomUUID();
const MALFORMED = ["no-such-session", "../../etc/passwd", "'; drop table sessions", "ä ö", "00000"];
let deleted = "";

beforeAll(async () => {
  const ada = await newSession(server());
  await ada.prompt(script("say something"));
  deleted = ada.sessionId;
  await ada.client.deleteSessionsData([deleted]);
});

/** The whole answer, with the id itself left out. */
async function answerTo(ask: Ask, id: string): Promise<string> {
  try {
    return `granted: ${JSON.stringify(await ask(clientOf(server()), id))}`;
  } catch (thrown) {
    if (!(thrown instanceof DaemonHttpError)) throw thrown;
    const { status, body, message } = thrown;
    return JSON.stringify({ status, body, message }).replaceAll(id, "ID");
  }
}

describe("P8: a session that is not there", () => {
  it.each(Object.entries(ASKS))("is the same, whatever its id is: %s", async (_, ask) => {
    const answer = await answerTo(ask, UNKNOWN);
    expect(JSON.parse(answer)).toMatchObject({
      status: 404,
      body: { code: "session_not_found", sessionId: "ID", error: 'No session with id "ID"' },
    });
    for (const id of [deleted, ...MALFORMED]) expect(await answerTo(ask, id)).toBe(answer);
  });

  it("can be closed and left, as the SDK takes it", async () => {
    const client = clientOf(server());
    for (const id of [UNKNOWN, deleted, ...MALFORMED]) {
      await client.closeSession(id);
      await client.detachSession(id, "client_somebody");
    }
  });

  it("has no requests to vote on, either", async () => {
    const client = clientOf(server());
    const cancel = { outcome: { outcome: "cancelled" as const } };
    for (const id of [UNKNOWN, deleted, ...MALFORMED]) {
      expect(await client.respondToSessionPermission(id, UNKNOWN, cancel)).toBe(false);
      expect(await client.respondToPermission(id, cancel)).toBe(false);
    }
  });
});

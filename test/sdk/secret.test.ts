import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DaemonSessionClient } from "@qwen-code/sdk/daemon";
import { describe, expect, it } from "vitest";
import { ECHO } from "../server/program.fixture.ts";
import { sharedServer } from "../server/serve.fixture.ts";
import { clientOf, dataOf, Listener, newSession, script, spoken } from "./session.fixture.ts";

/** One that is written in one way only, and one that JSON writes in several. */
const PLAIN = "hush-4711-do-not-tell";
const QUOTED = 'hush "47\\11" do not tell';

const server = sharedServer({
  flags: ["--agent", "keyed", "--log-level", "debug"],
  env: { PLAIN_OF_THE_SERVER: PLAIN, QUOTED_OF_THE_SERVER: QUOTED },
  agents: {
    keyed: {
      command: process.execPath,
      args: [ECHO],
      env: {
        PLAIN_KEY: { from: "PLAIN_OF_THE_SERVER" },
        QUOTED_KEY: { from: "QUOTED_OF_THE_SERVER" },
      },
    },
  },
});

/** As it is, and as JSON has it, once and twice. */
function spellings(secret: string): readonly string[] {
  const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
  return [secret, inJson(secret), inJson(inJson(secret))];
}

const SPELLINGS = [PLAIN, QUOTED].flatMap(spellings);

function filesWith(folder: string, texts: readonly string[]): readonly string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  expect(files.length).toBeGreaterThan(0);
  return files.flatMap(({ parentPath, name }) => {
    const bytes = readFileSync(join(parentPath, name));
    return texts.some((text) => bytes.includes(text)) ? [name] : [];
  });
}

describe("P11: a secret that the server gave to its agent", { timeout: 60_000 }, () => {
  it("is nowhere on the disk or in the log, however often the agent says it", async () => {
    const ada = await newSession(server());
    const listener = await Listener.caughtUp(ada);
    await ada.prompt(script("env PLAIN_KEY QUOTED_KEY"));
    expect(spoken(listener.events)).toContain("[redacted]");
    const half = PLAIN.length / 2;
    const lines = [
      `say ${PLAIN.slice(0, half)}`,
      `say ${PLAIN.slice(half)}`,
      `think ${JSON.stringify(QUOTED)}`,
      `tool t1 kind=execute title=${PLAIN} command=${PLAIN} text=${PLAIN} status=completed`,
      `plan ${PLAIN}|other`,
      `commands ${PLAIN}`,
      `title ${PLAIN}`,
      `stderr ${PLAIN}`,
      `update ${JSON.stringify({ sessionUpdate: "usage_update", of: QUOTED, used: 1, size: 2 })}`,
      `ask title=${PLAIN} command=${PLAIN}`,
    ];
    const { promptId } = await ada.submitPrompt(script(...lines));
    const { requestId } = dataOf(await listener.heard("permission_request"));
    const allow = { outcome: { outcome: "selected" as const, optionId: "allow_once" } };
    await ada.respondToSessionPermission(String(requestId), allow);
    await listener.verdict(promptId);
    await expect(ada.prompt(script(`fail -32001 ${PLAIN}`))).rejects.toThrow();
    await expect(ada.setModel(PLAIN)).rejects.toThrow();
    const named = await ada.updateMetadata({ displayName: `it is ${PLAIN}` });
    expect(named).toMatchObject({ displayName: "it is [redacted]" });
    const branch = await ada.client.branchSession(ada.sessionId);
    const heard = JSON.stringify(listener.events);
    const loaded = await DaemonSessionClient.load(clientOf(server()), branch.sessionId);
    const exported = await ada.client.exportSession(ada.sessionId, { format: "json" });

    expect(filesWith(server().data, SPELLINGS)).toEqual([]);
    await server().kill("SIGKILL");
    expect(filesWith(server().data, SPELLINGS)).toEqual([]);
    await server().restart();
    await ada.prompt(script("env PLAIN_KEY"));
    await server().kill("SIGTERM");
    expect(filesWith(server().data, SPELLINGS)).toEqual([]);
    const told = [heard, JSON.stringify(loaded.replaySnapshot), exported.content, server().said];
    for (const text of told) {
      expect(SPELLINGS.filter((secret) => text.includes(secret))).toEqual([]);
    }
    expect(server().said).toContain('"level":"debug"');
  });
});

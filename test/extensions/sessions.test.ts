// Extensions in the sessions of a real server, over HTTP: up before a session is there, their slots
// stored with its turns, and listed where they are missing.

import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ServeProcess } from "../server/serve.fixture.ts";
import { asked, Talk } from "../server/talk.fixture.ts";
import { ANY_SLOT, extendedServer, putIn, trustIn } from "./served.fixture.ts";

/** Counts the turns of its session, and says at each start how many there were. */
const COUNTER = {
  manifest: { ...ANY_SLOT, events: ["turn_complete"] },
  body: `return {
    activate: () => host.log("turns so far: " + (host.slots.get() ?? 0)),
    event: () => host.slots.set((host.slots.get() ?? 0) + 1),
  };`,
};

describe("an extension that its operator trusts", { timeout: 120_000 }, () => {
  it("P6: comes up with each session, and finds its slot again after a restart", async () => {
    const server = await extendedServer({ counter: COUNTER });
    const talk = await Talk.begun(server);
    expect(server.said).toContain("turns so far: 0");
    await talk.prompt("turn_complete", "say one");
    await talk.prompt("turn_complete", "say two");
    await server.kill("SIGTERM");
    await server.restart();
    expect(await talk.call("POST", "/load", {})).not.toHaveProperty("skipped");
    // What is told of the end of a turn is stored with the next one.
    expect(server.said).toContain("turns so far: 1");
  });

  it("P6: is listed where it is missing, and its slot is kept for when it is back", async () => {
    const server = await extendedServer({ counter: COUNTER });
    const talk = await Talk.begun(server);
    await talk.prompt("turn_complete", "say one");
    await talk.prompt("turn_complete", "say two");
    await server.kill("SIGTERM");
    rmSync(join(server.home, "extensions/counter"), { recursive: true });
    await server.restart();
    const absent = [{ name: "counter", reason: "its owner is not here; it is kept as it is" }];
    expect(await talk.call("POST", "/load", {})).toMatchObject({ skipped: absent });
    await talk.prompt("turn_complete", "say three");
    await server.kill("SIGTERM");
    putIn(server, "counter", COUNTER);
    await server.restart();
    expect(await talk.call("POST", "/load", {})).not.toHaveProperty("skipped");
    expect(server.said.match(/turns so far: \d/g)).toEqual(["turns so far: 0", "turns so far: 1"]);
  });

  it("is not loaded any more once an agent has changed its code", async () => {
    const server = await extendedServer({ counter: COUNTER });
    writeFileSync(join(server.home, "extensions/counter/index.js"), "export default () => ({});");
    const talk = await Talk.begun(server);
    const skipped = [{ name: "counter", reason: expect.stringContaining("has changed since") }];
    expect(await talk.call("GET", "/status")).toMatchObject({ skipped });
    expect(server.said).not.toContain("turns so far");
  });
});

describe("POST /session/:id/extensions/reload", { timeout: 120_000 }, () => {
  it("has a live session run what is trusted by now, as it is configured by now", async () => {
    const says = (word: string) => ({
      manifest: { ...ANY_SLOT, configSchema: { type: "object" } },
      body: `return { activate: () => host.log("${word} " + host.config.n) };`,
    });
    const server = await extendedServer({ speaker: says("old") });
    const talk = await Talk.begun(server);
    expect(server.said).toContain("old undefined");
    const nothing = { reloaded: [], waiting: [], kept: [], skipped: [] };
    expect(await talk.call("POST", "/extensions/reload", {})).toEqual(nothing);
    // Code that is changed and not trusted takes the place of none.
    putIn(server, "speaker", says("new"));
    const skipped = [{ name: "speaker", reason: expect.stringContaining("has changed since") }];
    const changed = { ...nothing, reloaded: ["speaker"], skipped };
    expect(await talk.call("POST", "/extensions/reload", {})).toEqual(changed);
    trustIn(server, "speaker", says("new"));
    writeFileSync(join(server.home, "extensions.json"), `{"speaker": {"config": {"n": 7}}}`);
    const reloaded = { ...nothing, reloaded: ["speaker"] };
    expect(await talk.call("POST", "/extensions/reload", {})).toEqual(reloaded);
    await expect.poll(() => server.said).toContain("new 7");
    writeFileSync(join(server.home, "extensions.json"), "{");
    expect(await talk.call("POST", "/extensions/reload", {})).toMatchObject({
      code: "invalid_server_config",
    });
    await talk.prompt("turn_complete", "say it goes on");
  });
});

/** A place in which an extension tells this test how far it is. */
function marksOf(server: ServeProcess) {
  return { has: (name: string) => existsSync(join(server.folder, name)) };
}

/** Marks how far it is, and does what its configuration says of its start. */
const STARTING = {
  manifest: { configSchema: { type: "object", properties: { folder: { type: "string" } } } },
  body: `return { async activate() {
    const { writeFileSync, existsSync } = await import("node:fs");
    const { folder, fails } = host.config;
    writeFileSync(folder + "/activating", "");
    if (existsSync(folder + "/fails")) throw new Error("not today");
    if (existsSync(folder + "/hangs")) await new Promise(() => {});
  } };`,
};

/** A server whose sessions cannot be new without that extension. */
function criticalServer(): Promise<ServeProcess> {
  return extendedServer(
    { starting: STARTING },
    {
      prepare: ({ home, folder }) => {
        const said = { starting: { critical: true, config: { folder } } };
        writeFileSync(join(home, "extensions.json"), JSON.stringify(said));
      },
    },
  );
}

async function listed(server: ServeProcess): Promise<readonly unknown[]> {
  const path = `/workspace/${encodeURIComponent(server.workspace)}/sessions`;
  const { sessions } = await asked(server, "GET", path);
  return Array.isArray(sessions) ? sessions : [];
}

describe("a critical extension", { timeout: 120_000 }, () => {
  it("P1: that fails is why a session is not made, and nothing of that is stored", async () => {
    const server = await criticalServer();
    writeFileSync(join(server.folder, "fails"), "");
    const refused = await fetch(`${server.url}/session`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ sessionScope: "thread" }),
    });
    expect(refused.status).toBe(502);
    expect(await refused.json()).toMatchObject({
      code: "extension_failed",
      error: 'The extension "starting" failed in activate: not today.',
    });
    expect(await listed(server)).toEqual([]);
    await server.kill("SIGTERM");
    await server.restart();
    expect(await listed(server)).toEqual([]);
  });

  it("P1: a server that is killed while it comes up has stored nothing", async () => {
    const server = await criticalServer();
    writeFileSync(join(server.folder, "hangs"), "");
    const lost = Talk.begun(server).catch(() => "lost");
    await expect.poll(() => marksOf(server).has("activating")).toBe(true);
    await server.kill("SIGKILL");
    expect(await lost).toBe("lost");
    await server.restart();
    expect(await listed(server)).toEqual([]);
  });

  it("P6: that fails later does not keep a session from going on", async () => {
    const server = await criticalServer();
    const talk = await Talk.begun(server);
    await talk.prompt("turn_complete", "say one");
    await server.kill("SIGKILL");
    writeFileSync(join(server.folder, "fails"), "");
    await server.restart();
    const said = await talk.prompt("turn_complete", "say two");
    // A prompt has woken the session, and the log says without what.
    const reason = 'The extension \\"starting\\" failed in activate: not today.';
    expect(said).toContain(`"event":"SessionResumeStarted"`);
    expect(said).toContain(`"skipped":[{"name":"starting","reason":"${reason}"}]`);
    const skipped = [{ name: "starting" }];
    expect(await talk.call("GET", "/status")).toMatchObject({ skipped });
    expect(await talk.call("POST", "/resume", {})).toMatchObject({ skipped });
  });
});

describe("an extension that wants the slot of another", { timeout: 120_000 }, () => {
  it("P8: is refused, and the audit has it", async () => {
    const server = await extendedServer({
      thief: {
        manifest: ANY_SLOT,
        body: `return { activate() {
          for (const act of [() => host.slots.get("fermata.core"), () => host.slots.set(1, "todo")])
            try { act(); host.log("it has it"); } catch (thrown) { host.log(thrown.message); }
        } };`,
      },
    });
    const talk = await Talk.begun(server);
    expect(server.said).not.toContain("it has it");
    expect(server.said).toContain('The slot \\"todo\\" is not that of the extension \\"thief\\".');
    await talk.prompt("turn_complete", "say one");
    const audit = JSON.stringify(await asked(server, "GET", "/audit"));
    expect(audit).toContain('"act":"slot_access_denied"');
    expect(audit).toContain('"slot":"fermata.core"');
    expect(audit).toContain('"slot":"todo"');
  });
});

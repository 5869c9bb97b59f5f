// Backups of a real server at work, each restored and looked at by those who use it.

import { EventEmitter, once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseSessionId, parseTenantId } from "../src/core/id.ts";
import { allEntries, allEvents, allListed, value } from "../src/store/kit/expect.ts";
import { HOST } from "../src/store/sample.fixture.ts";
import { sqliteStore } from "../src/store/sqlite/store.ts";
import type { SessionStore } from "../src/store/store.ts";
import {
  Caller,
  type CreatedSession,
  fermata,
  type Heard,
  keepAtWork,
  settled,
  verdictsOf,
} from "./backup.fixture.ts";
import { ServeProcess } from "./server/serve.fixture.ts";

const BACKUPS = 3;
const SESSIONS_EACH = 3;
const GRANTED_MICRO = 1_000_000;

/** A micro-credit for each token, ten set aside for a turn. */
const PRICES = { agents: { echo: { input: 1_000_000, output: 0, reserve: 10 } } };

/** A turn that costs seven, and takes a moment in the middle. */
const _meta = { usage: { inputTokens: 7, outputTokens: 0 } };
const content = { type: "text", text: "." };
const update = { sessionUpdate: "agent_message_chunk", content, _meta };
const TURN = ["say well,", `update ${JSON.stringify(update)}`, "sleep 40", "say done"];

/** A turn that is not over when the server is killed, so every backup has one in the middle. */
const LONG_TURN = ["say well,", `update ${JSON.stringify(update)}`, "sleep 600000"];

interface Taken {
  readonly target: string;
  /** How many verdicts clients had been told of when it was begun. */
  readonly heardBefore: number;
}

interface Team {
  readonly caller: Caller;
  readonly sessions: readonly CreatedSession[];
}

async function started(folder: string): Promise<ServeProcess> {
  const prices = join(folder, "prices.json");
  writeFileSync(prices, JSON.stringify(PRICES));
  const server = await ServeProcess.start({ flags: ["--prices", prices] });
  onTestFinished(() => server.end());
  return server;
}

async function team(caller: Caller): Promise<Team> {
  await caller.ask("POST", "/credits/limit", { limit: "granted" });
  await caller.ask("POST", "/credits/grants", { amountMicro: GRANTED_MICRO, id: "g" });
  const sessions: CreatedSession[] = [];
  for (let n = 0; n < SESSIONS_EACH; n += 1) sessions.push(await caller.session());
  return { caller, sessions };
}

/**
 * Takes backups while every session of every team is at work, and then kills the server. The
 * first session of a team is amid its long turn; before each backup the others have ended some.
 */
async function backupsAtWork(server: ServeProcess, teams: readonly Team[], folder: string) {
  let isOver = false;
  const turns = new EventEmitter();
  let heard = 0;
  const onVerdict = () => {
    heard += 1;
    turns.emit("ended");
  };
  const watch = { isOver: () => isOver, onVerdict };
  const work: Promise<void>[] = [];
  for (const { caller, sessions } of teams) {
    const [first, ...others] = sessions;
    await caller.prompt(first?.sessionId ?? expect.fail("a team has sessions"), ...LONG_TURN);
    work.push(...others.map((place) => keepAtWork(caller, place, TURN, watch)));
  }
  const taken: Taken[] = [];
  for (let n = 1; n <= BACKUPS; n += 1) {
    const target = join(folder, `backup-${n}`);
    await Promise.race([once(turns, "ended"), ...work]);
    const heardBefore = heard;
    const { code, out, error } = await fermata(server, "backup", target);
    expect({ code, error }).toEqual({ code: 0, error: "" });
    expect(out).toMatch(/^Backed up 2 tenants, 6 sessions, \d+ bytes to /);
    taken.push({ target, heardBefore });
  }
  isOver = true;
  await server.kill("SIGKILL");
  await Promise.all(work);
  return taken;
}

async function openStore(data: string): Promise<SessionStore> {
  const store = sqliteStore();
  await value(store.init(HOST, { active: true, path: join(data, "sessions") }));
  await value(store.activate());
  return store;
}

interface AtRest {
  readonly epochs: readonly string[];
  /** Prompts that had their verdict, and prompts that had none. */
  readonly ended: number;
  readonly open: number;
}

/** What a restored directory has, before any server has seen it. */
async function verifyAtRest(data: string, teams: readonly Team[]): Promise<AtRest> {
  const store = await openStore(data);
  const epochs: string[] = [];
  const counts: number[] = [];
  try {
    for (const { caller, sessions } of teams) {
      const tenantId = parseTenantId(caller.tenant) ?? expect.fail();
      const records = await allListed(store, tenantId);
      expect(records.map(({ holder }) => holder)).toEqual(sessions.map(() => null));
      for (const { sessionId, epoch, lastEventId } of records) {
        epochs.push(epoch);
        const log = await allEvents(store, { tenantId, sessionId });
        expect(log.map(({ id }) => id)).toEqual(log.map((_, index) => index + 1));
        expect(log.at(-1)?.id).toBe(lastEventId);
        const events: readonly Heard[] = log.map(({ text }) => JSON.parse(text));
        counts.push(...verdictsOf(events).values());
      }
      const audit = (await allEntries(store, tenantId, "audit")).map(({ text }) =>
        JSON.parse(text),
      );
      expect(audit.at(-1)).toMatchObject({ act: "restored", actor: { kind: "operator" } });
    }
  } finally {
    await value(store.dispose());
  }
  const [open, ended] = [0, 1].map((verdicts) => counts.filter((count) => count === verdicts));
  expect(open?.length, "more than one verdict").toBe(counts.length - (ended?.length ?? 0));
  return { epochs, open: open?.length ?? 0, ended: ended?.length ?? 0 };
}

/** What those who use it find when the server is there again. */
async function verifyServed({ caller, sessions }: Team): Promise<void> {
  for (const { sessionId, epoch } of sessions) {
    const events = await settled(caller, sessionId);
    const verdicts = verdictsOf(events);
    expect([...verdicts.values()]).toEqual([...verdicts].map(() => 1));
    const last = events.at(-1)?.id ?? 0;
    for await (const { type, data } of caller.stream(sessionId, { epoch }, last)) {
      expect([type, data.reason]).toEqual(["state_resync_required", "epoch_reset"]);
      break;
    }
    const promptId = await caller.prompt(sessionId, "say still here");
    const after = await settled(caller, sessionId);
    const isOurs = (event: Heard) => event.data.promptId === promptId;
    expect(after.filter(isOurs).map(({ type }) => type)).toContain("turn_complete");
  }
  await verifyMoney(caller);
}

async function verifyMoney(caller: Caller): Promise<void> {
  const credits = await caller.ask("GET", "/credits");
  expect(credits).toMatchObject({ grantedMicro: GRANTED_MICRO, openMicro: 0, openTurns: 0 });
  expect(Number(credits.availableMicro) + Number(credits.chargedMicro)).toBe(GRANTED_MICRO);
  const { entries } = await caller.ask("GET", "/credits/statement?limit=1000");
  const rows = Array.isArray(entries) ? entries : expect.fail("there is no statement");
  const sum = (kind: string) =>
    rows.filter((row) => row.kind === kind).reduce((all, row) => all + row.amountMicro, 0);
  expect(sum("reserve")).toBeGreaterThan(0);
  expect(sum("reserve")).toBe(sum("charge") + sum("release"));
}

/** Whether this is anywhere in the files of a folder. */
function isUnder(folder: string, words: string): boolean {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .some(({ parentPath, name }) => readFileSync(join(parentPath, name)).includes(words));
}

describe("backups of a server at work", { timeout: 240_000 }, () => {
  it("P3, P5, P9, P11: each restores to a whole that goes on as after a crash", async () => {
    const folder = mkdtempSync(join(tmpdir(), "fermata-backups-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const server = await started(folder);
    const callers = [await Caller.of(server, "local"), await Caller.of(server, "acme")];
    await server.kill("SIGTERM");
    await server.restart();
    const teams = [];
    for (const caller of callers) teams.push(await team(caller));
    const taken = await backupsAtWork(server, teams, folder);
    const known = new Set(teams.flatMap(({ sessions }) => sessions.map(({ epoch }) => epoch)));
    for (const [index, { target: backup, heardBefore }] of taken.entries()) {
      for (const { token } of callers) expect(isUnder(backup, token)).toBe(false);
      const occupied = await fermata(server, "restore", backup);
      expect(occupied.code).toBe(1);
      expect(occupied.error).toMatch(/holds sessions already; move it away/);
      renameSync(server.data, join(folder, `data-before-${index + 1}`));
      const { code, out, error } = await fermata(server, "restore", backup);
      expect({ code, error }).toEqual({ code: 0, error: "" });
      expect(out).toMatch(/^Restored 2 tenants, 6 sessions, \d+ bytes, as of /);
      const { epochs, open, ended } = await verifyAtRest(server.data, teams);
      expect(open).toBeGreaterThanOrEqual(teams.length);
      expect(ended).toBeGreaterThanOrEqual(heardBefore);
      expect(epochs.filter((epoch) => known.has(epoch))).toEqual([]);
      for (const epoch of epochs) known.add(epoch);
      expect(known.size).toBe(teams.length * SESSIONS_EACH * (index + 2));
      await server.restart();
      for (const one of teams) await verifyServed(one);
      const running = await fermata(server, "restore", backup);
      expect(running.error).toMatch(/Nothing was restored: process \d+ serves .*; stop it \(kill/);
      await server.kill("SIGTERM");
    }
  });

  it("one in which a bit has flipped is refused, and nothing is in its place", async () => {
    const folder = mkdtempSync(join(tmpdir(), "fermata-backups-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const server = await ServeProcess.start();
    onTestFinished(() => server.end());
    const made = await fetch(`${server.url}/session`, { method: "POST" });
    const { sessionId } = JSON.parse(await made.text());
    expect(parseSessionId(sessionId)).not.toBeNull();
    const backup = join(folder, "backup");
    expect(await fermata(server, "backup", backup)).toMatchObject({ code: 0, error: "" });
    await server.kill("SIGTERM");
    rmSync(server.data, { recursive: true });
    const file = join(backup, "tenants", "local", "sessions.db");
    const bytes = readFileSync(file);
    bytes.writeUInt8(bytes.readUInt8(5_000) ^ 1, 5_000);
    writeFileSync(file, bytes);
    const { code, error } = await fermata(server, "restore", backup);
    expect(code).toBe(1);
    expect(error).toMatch(/the backup is not whole: tenants\/local\/sessions\.db: .*SHA-256/);
    expect(isUnder(server.data, "session_created")).toBe(false);
  });
});

import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { AgentMarks } from "../../src/agent/process/marks.ts";
import type { LogEvent } from "../../src/core/replay/compact.ts";
import { DONE } from "../../src/core/result.ts";
import { BUILT_IN_NAMES } from "../../src/core/slash/commands.ts";
import { FilesLoader } from "../../src/loader/loader.ts";
import { SessionHost } from "../../src/session/host.ts";
import type { LiveSession } from "../../src/session/live.ts";
import { ada, NEVER } from "../../src/session/runtime.fixture.ts";
import { echo, promptOf, Stage, TENANT, value } from "../../src/session/stage.fixture.ts";
import { sessionFields } from "../../src/session/view/fields.ts";
import { CREATION, RANDOM_IDS } from "../../src/session/world.fixture.ts";
import type { SessionKey } from "../../src/store/store.ts";
import { openTools } from "../../src/tool/open.ts";
import { skill, toolSkill, write } from "./files.fixture.ts";

/** A line, and in which session it is said. */
interface Step {
  readonly session: number;
  readonly line: string;
}

/** Lines that are said at once, act by act. The files change between the acts. */
export interface Play {
  readonly acts: readonly (readonly Step[])[];
  /** Before this act the server is stopped and started again. */
  readonly restartBefore: number;
}

/** What became of each session that has a part in a play, without names and times. */
export type Outcomes = ReadonlyMap<number, readonly unknown[]>;

/** Plays the parts of these sessions, on a server of their own. */
export async function perform(play: Play, parts: readonly number[]): Promise<Outcomes> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "fermata-play-")));
  for (const name of ["bundled", "workspace"]) mkdirSync(join(folder, name));
  try {
    return await performed(play, parts, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function performed({ acts, restartBefore }: Play, parts: readonly number[], folder: string) {
  layOut(folder, 0);
  let house = await House.open(folder);
  const keys = new Map<number, SessionKey>();
  for (const part of parts) keys.set(part, await house.create());
  for (const [number, act] of acts.entries()) {
    if (number > 0) layOut(folder, number);
    if (number === restartBefore) {
      await house.close();
      house = await House.open(folder);
    }
    for (const { session, line } of act) {
      const key = keys.get(session);
      if (key !== undefined) await house.say(key, line);
    }
    for (const key of keys.values()) await house.quiet(key);
  }
  const outcomes = new Map<number, readonly unknown[]>();
  for (const [part, key] of keys) outcomes.set(part, await house.outcome(key));
  await house.close();
  return outcomes;
}

/** The files of an act: one edited, one that comes and goes, an alias that moves, a persona. */
function layOut(folder: string, act: number) {
  const file = (path: string, text: string) => write(join(folder, "workspace"), path, text);
  const alias = act % 2 === 0 ? "ship" : "launch";
  const body = `Deploy by the rules of act ${act}.`;
  file(".fermata/skills/deploy/SKILL.md", skill(`In act ${act}.`, body, [`command: ${alias}`]));
  file(".fermata/skills/look/SKILL.md", toolSkill("read_file"));
  rmSync(join(folder, "workspace/.fermata/skills", `only-${act - 1}`), {
    recursive: true,
    force: true,
  });
  file(`.fermata/skills/only-${act}/SKILL.md`, skill("Comes and goes.", "Briefly."));
  file("SOUL.md", `Behave as in act ${act}.`);
  file("note.txt", "the note");
}

/** A server without its network. */
class House {
  readonly #stage: Stage;
  readonly #runtime: SessionHost;

  private constructor(stage: Stage) {
    this.#stage = stage;
    this.#runtime = new SessionHost(stage.world);
  }

  static async open(folder: string): Promise<House> {
    const tools = await openTools({
      servers: [],
      folder,
      env: { PATH: process.env.PATH },
      marks: new AgentMarks(join(folder, "marks")),
      secret: () => DONE,
      log: () => {},
    });
    const loader = new FilesLoader({
      bundled: join(folder, "bundled"),
      userFolder: join(folder, "home"),
      platform: "linux",
      env: {},
      tools: async () => ["read_file"],
      reserved: BUILT_IN_NAMES,
      isTrusted: async () => true,
    });
    // One that remembers over restarts, and one that never does and has to be told.
    const [, forgetful] = echo("--no-resume", "--no-load");
    const profiles = new Map([echo("--state", join(folder, "state")), ["second", forgetful]]);
    return new House(await Stage.open({ folder, profiles, tools, loader }));
  }

  async create(): Promise<SessionKey> {
    const key = { tenantId: TENANT, sessionId: RANDOM_IDS.session() };
    const workspaceCwd = join(this.#stage.folder, "workspace");
    const creation = { ...CREATION, workspaceCwd, securityMode: "yolo" } as const;
    value(await this.#runtime.create({ key, creation, actor: ada }));
    return key;
  }

  async say(key: SessionKey, line: string): Promise<void> {
    const prompt = { ...promptOf(await this.#live(key), line), pendingMax: null };
    value(await this.#runtime.submit(key, prompt));
  }

  /** Resolves when all that was said has its verdict. */
  async quiet(key: SessionKey): Promise<void> {
    const live = await this.#live(key);
    value(await live.until(({ queue, running }) => queue.length === 0 && running === null));
  }

  async outcome(key: SessionKey): Promise<readonly unknown[]> {
    const { world } = this.#stage;
    const live = await this.#live(key);
    const page = value(await world.store.readEvents(key, { after: 0, limit: 1_000 }));
    const events: readonly LogEvent[] = page.events.map(({ text }) => JSON.parse(text));
    const order = { isFull: true, after: 0, limit: 500 };
    const fields = value(await sessionFields(world, live, order));
    const all = [...events.flatMap(said), fields];
    return all.map((one) => nameless(one, this.#stage.folder));
  }

  async close(): Promise<void> {
    const { agents, store, tools } = this.#stage.world;
    await this.#runtime.shutDown(NEVER);
    await Promise.all([agents.shutdown(), tools.close()]);
    await store.dispose();
  }

  async #live(key: SessionKey): Promise<LiveSession> {
    return value(await this.#runtime.find(key));
  }
}

/** What a client would have seen of a session's answers. */
function said(event: LogEvent): readonly object[] {
  const { type, data } = event;
  const isAnswer = type === "command_result" || type === "session_update";
  const isTold = type === "instructions_sent" || type === "skill_invoked";
  const isVerdict = type === "turn_complete" || type === "turn_error";
  return isAnswer || isTold || isVerdict ? [{ type, data }] : [];
}

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const TIME = /"(\d{4}-\d\d-\d\dT[\d:.]+Z)"|(?<="atMs":)\d+/g;

/** Names that are made up anew each time, and times, are all that two runs may differ in. */
function nameless(value: object, folder: string): unknown {
  const text = JSON.stringify(value).replaceAll(folder, "FOLDER");
  const same: unknown = JSON.parse(text.replaceAll(UUID, "NAME").replaceAll(TIME, "0"));
  return same ?? expect.fail("there is nothing");
}

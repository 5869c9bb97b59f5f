import { randomUUID } from "node:crypto";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import type { Credentials } from "../agent/credential/credentials.ts";
import type { AgentKeeper } from "../agent/keeper.ts";
import { openAgents } from "../agent/open.ts";
import { KNOWN_PROFILES } from "../agent/profile/known.ts";
import { type AgentProfile, profileOf } from "../agent/profile/profile.ts";
import { type PromptId, parseTenantId, type SessionId } from "../core/id.ts";
import { selected } from "../core/policy/ask.ts";
import type { LogEvent } from "../core/replay/compact.ts";
import type { ReplayEvent } from "../core/replay/window.ts";
import { DONE, type Result } from "../core/result.ts";
import type { Actor, Command, CommandData, CommandType } from "../core/session/command.ts";
import type { Creation } from "../core/session/state.ts";
import type { Loader } from "../loader/loader.ts";
import { SecretGuard, type SessionStore, type StoreSteps, thisHolder } from "../store/index.ts";
import { sqliteStore } from "../store/sqlite/store.ts";
import type { Tools } from "../tool/tool.ts";
import { OpenTurns } from "./actor/open-turns.ts";
import type { Written } from "./actor/written.ts";
import { KnownSnapshots } from "./known-snapshots.ts";
import type { LiveSession } from "./live.ts";
import type { Meter } from "./meter/meter.ts";
import type { Participant } from "./participant.ts";
import { SessionRegistry } from "./registry.ts";
import type { SessionReplay } from "./replay.ts";
import { LocalShell } from "./side/local-shell.ts";
import { TenantGate } from "./tenant/tenant-gate.ts";
import {
  CREATION,
  NO_LOADER,
  NO_METER,
  NO_TOOLS,
  RANDOM_IDS,
  REAL_CLOCK,
  SETTINGS,
} from "./world.fixture.ts";
import type { SessionSettings, SessionWorld } from "./world.ts";

/** A real store, real agents and a real clock, in a folder of its own. */
export class Stage {
  readonly folder: string;
  readonly world: SessionWorld;
  readonly registry: SessionRegistry;
  /** Everything that was told to streams, in order, by session. */
  readonly told = new Map<string, LogEvent[]>();
  readonly interruptions: string[] = [];
  readonly logs: string[] = [];
  /** By how much its clock is ahead: time passes when a test says so. */
  aheadMs = 0;
  #waiting: (() => void)[] = [];

  readonly keeper: AgentKeeper;

  private constructor(folder: string, world: SessionWorld, keeper: AgentKeeper) {
    this.folder = folder;
    this.world = world;
    this.keeper = keeper;
    const watcher = (live: LiveSession): Participant => ({
      durable: (written) => this.#heard(live, written),
      end: (why) => {
        if (why !== null) this.interruptions.push(`${live.key.sessionId} ${why.code}`);
      },
    });
    this.registry = new SessionRegistry(world, {
      join: (live) => [watcher(live)],
      isWatched: () => false,
      unmade: () => {},
    });
  }

  /** Over a new folder, or over one where another stage has ended. */
  static async open(options: StageOptions = {}): Promise<Stage> {
    const folder = options.folder ?? realpathSync(mkdtempSync(join(tmpdir(), "fermata-session-")));
    const store = await openStore(folder, options.steps);
    const profiles = options.profiles ?? new Map([echo()]);
    const { agents, keeper, commandMarks } = await openAgents({
      folder,
      profiles,
      env: process.env,
      memoryBytesMax: null,
      ...(options.credentials && { credentials: options.credentials }),
      watch: { fault: () => {}, secret: () => DONE, secretGone: () => {} },
    });
    const guard = options.guard ?? new SecretGuard();
    const world: SessionWorld = {
      store: options.wrap?.(store) ?? store,
      agents,
      agentCalls: keeper.calls,
      loader: options.loader ?? NO_LOADER,
      tools: options.tools ?? NO_TOOLS,
      meter: options.meter?.(store) ?? NO_METER,
      ...(options.extensions && { extensions: options.extensions }),
      ...(options.toolboxes && { toolboxes: options.toolboxes }),
      ...(options.workflows && { workflows: options.workflows }),
      shell: new LocalShell({ PATH: process.env.PATH ?? "" }, commandMarks),
      holder: thisHolder(randomUUID()),
      tenants: new TenantGate(),
      turns: new OpenTurns(options.settings?.turnMemory?.allBytesMax ?? Number.POSITIVE_INFINITY),
      known: new KnownSnapshots(),
      clock: { ...REAL_CLOCK, nowMs: () => Date.now() + stage.aheadMs },
      yield: () => setImmediate(),
      ids: RANDOM_IDS,
      redact: (text) => guard.redact(text),
      borders: guard,
      settings: { ...SETTINGS, agentNames: [...profiles.keys()], ...options.settings },
      log: (what) => stage.logs.push(what),
    };
    const stage: Stage = new Stage(folder, world, keeper);
    onTestFinished(async () => {
      await agents.shutdown();
      await store.dispose();
      if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
    });
    return stage;
  }

  async created(change: Partial<Creation> = {}): Promise<Hand> {
    const key = { tenantId: TENANT, sessionId: RANDOM_IDS.session() };
    const creation = { ...CREATION, workspaceCwd: this.folder, ...change };
    const made = await this.registry.create({ key, creation, actor: ANYBODY });
    return new Hand(this, value(made).live);
  }

  async opened(sessionId: SessionId): Promise<Hand> {
    return new Hand(this, value(await this.registry.get({ tenantId: TENANT, sessionId })));
  }

  events(sessionId: SessionId): readonly LogEvent[] {
    return this.told.get(sessionId) ?? [];
  }

  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise<void>((wake) => this.#waiting.push(wake));
  }

  #heard(live: LiveSession, written: readonly Written[]) {
    const events = this.told.get(live.key.sessionId) ?? [];
    events.push(...written.map(({ event }) => event));
    this.told.set(live.key.sessionId, events);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}

interface StageOptions {
  readonly folder?: string;
  readonly profiles?: ReadonlyMap<string, AgentProfile>;
  readonly settings?: Partial<SessionSettings>;
  readonly guard?: SecretGuard;
  readonly loader?: Loader;
  readonly tools?: Tools;
  /** Finds the keys and homes of users. */
  readonly credentials?: Credentials;
  /** What turns cost, where they cost anything. */
  meter?(store: SessionStore): Meter;
  wrap?(store: SessionStore): SessionStore;
  readonly steps?: StoreSteps;
  readonly extensions?: SessionWorld["extensions"];
  readonly toolboxes?: SessionWorld["toolboxes"];
  readonly workflows?: SessionWorld["workflows"];
}

/** A client's hand on a session. */
export class Hand {
  readonly stage: Stage;
  readonly live: LiveSession;

  constructor(stage: Stage, live: LiveSession) {
    this.stage = stage;
    this.live = live;
  }

  get sessionId(): SessionId {
    return this.live.key.sessionId;
  }

  get events(): readonly LogEvent[] {
    return this.stage.events(this.sessionId);
  }

  get status(): string {
    return this.live.session.connection.sessionState;
  }

  say<Type extends CommandType>(type: Type, data: CommandData[Type], actor: Actor = ANYBODY) {
    // A command is what its type says it has, and the time and the caller beside it.
    return this.live.submit({ type, ...data, atMs: Date.now(), actor } as Command);
  }

  /** Sends a prompt; its id is the answer's, or a failed test. */
  async prompt(...script: readonly string[]): Promise<PromptId> {
    const prompt = promptOf(this.live, ...script);
    expect((await this.live.submit(prompt)).refusal).toBeNull();
    return prompt.promptId;
  }

  async verdict(promptId: PromptId) {
    const isVerdict = (event: LogEvent) =>
      (event.type === "turn_complete" || event.type === "turn_error") &&
      event.data.promptId === promptId;
    await this.stage.until(() => this.events.some(isVerdict));
    const all = this.events.filter(isVerdict);
    expect(all).toHaveLength(1);
    return all[0];
  }

  async turn(...script: readonly string[]) {
    return this.verdict(await this.prompt(...script));
  }

  /** What the agent asked last, once it has asked. */
  async asked() {
    const asks = () =>
      this.events.flatMap((event) => (event.type === "permission_request" ? [event.data] : []));
    await this.stage.until(() => asks().length > 0);
    return asks().at(-1) ?? expect.fail();
  }

  /** Says yes to it. */
  async agree() {
    const { requestId, options } = await this.asked();
    const outcome = selected(options[0]?.optionId ?? "");
    return this.say("vote", { requestId, outcome });
  }

  /** What the agent said in all. */
  get text(): string {
    return this.events
      .flatMap((event) => (event.type === "session_update" ? [event.data.update] : []))
      .filter(({ sessionUpdate }) => sessionUpdate === "agent_message_chunk")
      .map(({ content }) => String(Object(content).text ?? ""))
      .join("");
  }
}

/** A prompt that goes to work at once if nothing is before it. */
export function promptOf(live: LiveSession, ...script: readonly string[]): Command<"prompt"> {
  return {
    type: "prompt",
    atMs: Date.now(),
    actor: ANYBODY,
    promptId: RANDOM_IDS.prompt(),
    content: [{ type: "text", text: script.join("\n") }],
    deadlineAtMs: null,
    idempotency: null,
    lastEventId: live.lastEventId,
    params: null,
    echo: true,
    start: { turnId: RANDOM_IDS.turn(), reservedMicro: 0, price: null },
  };
}

export function value<Value>(result: Result<Value>): Value {
  return result.ok ? result.value : expect.fail(JSON.stringify(result.refusal));
}

async function openStore(folder: string, steps: StoreSteps = {}): Promise<SessionStore> {
  const store = sqliteStore(undefined, steps);
  const host = {
    persistenceSurface: { announce: () => {} },
    env: { get: () => undefined },
    audit: () => {},
  };
  value(await store.init(host, { active: true, path: join(folder, "data") }));
  value(await store.activate());
  return store;
}

export const TENANT = parseTenantId("acme") ?? expect.fail();
export const SERVER: Actor = { kind: "server" };
export const ANYBODY: Actor = { kind: "client", clientId: null, userId: null, loopback: true };

const COMPILED = fileURLToPath(new URL("../../node_modules/.cache/node", import.meta.url));

/** `echo` with these flags, as an entry of profiles. */
export function echo(...flags: readonly string[]): [string, AgentProfile] {
  return echoNamed("echo", ...flags);
}

/** The same under another name: an agent of its own, in processes of its own. */
export function echoNamed(name: string, ...flags: readonly string[]): [string, AgentProfile] {
  const known = KNOWN_PROFILES.find(({ name }) => name === "echo") ?? expect.fail("no echo");
  const env = { NODE_COMPILE_CACHE: COMPILED };
  return [name, profileOf({ ...known, name, args: [...known.args, ...flags], env })];
}

/** What a loading client is shown of finished turns. */
export function finishedShown({ compactedTexts }: Pick<SessionReplay, "compactedTexts">) {
  const events: readonly ReplayEvent[] = JSON.parse(compactedTexts.join(""));
  return events;
}

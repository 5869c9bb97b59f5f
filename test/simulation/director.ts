import { parseSessionId, type SessionId } from "../../src/core/id.ts";
import { EVENTS_KEPT_MAX, SESSIONS_LIVE_MAX } from "../../src/core/limits.ts";
import type { Actor } from "../../src/core/session/command.ts";
import type { Creation } from "../../src/core/session/state.ts";
import type { LiveSession } from "../../src/session/live.ts";
import { CREATION as SAMPLE } from "../../src/session/world.fixture.ts";
import { DEFAULT_SESSION_SETTINGS, type SessionSettings } from "../../src/session/world.ts";
import type { SessionKey } from "../../src/store/index.ts";
import { ACTS, type Act, type ErrandAct } from "./acts.ts";
import { Client } from "./client.ts";
import { nameOf } from "./disk.ts";
import type { Flaw } from "./flaws.ts";
import { made } from "./fresh-ids.ts";
import type { Scene } from "./scene.ts";
import { REAP_MS } from "./schedule.ts";
import { SimulatedServer } from "./simulated-server.ts";
import { SIMULATED_CHILDREN_MAX } from "./stored-log.ts";
import { Subscriber } from "./subscriber.ts";
import { TenantReader } from "./tenant-reader.ts";
import { Witness } from "./witness.ts";
import { TENANTS } from "./words.ts";

/** Makes things happen: clients' acts, and what befalls the server. */
export class Director {
  readonly scene: Scene;
  readonly witness: Witness;
  readonly subscribers: Subscriber[] = [];
  readonly consoles: TenantReader[] = [];
  readonly #clients: readonly Client[];
  readonly #flaw: Flaw;
  readonly settings: SessionSettings;
  #server: SimulatedServer;
  #servers = 1;

  constructor(scene: Scene, flaw: Flaw) {
    this.scene = scene;
    this.#flaw = flaw;
    this.settings = settingsOf(scene);
    this.witness = new Witness(scene);
    this.#server = this.#newServer();
    const { chance } = scene;
    const tenants = chance.happens(0.3) ? TENANTS : TENANTS.slice(0, 1);
    const current = () => this.#server;
    this.#clients = tenants.flatMap((tenantId) => {
      const length = chance.between(1, 3);
      return Array.from({ length }, () => new Client(this.witness, current, tenantId));
    });
  }

  get live(): readonly LiveSession[] {
    return TENANTS.flatMap((tenantId) => this.#server.runtime.liveOf(tenantId));
  }

  get server(): SimulatedServer {
    return this.#server;
  }

  /** So many acts, one after the other, with pauses of chance's choosing. */
  async play(count: number): Promise<void> {
    const { chance, schedule } = this.scene;
    await this.#act("create");
    for (let index = 0; index < count; index += 1) {
      await schedule.beat("director", "looks around", { inMs: chance.pick([0, 0, 1, 5, 30, 400]) });
      await this.#befall();
      const logs = [...this.scene.disk.logs.values()];
      const isAsked = logs.some(({ openAsks }) => openAsks.size > 0);
      void this.#act(isAsked && chance.happens(0.4) ? "vote" : chance.weighed(ACTS));
    }
  }

  /** What no client causes: outages, crashes and orderly restarts. */
  async #befall(): Promise<void> {
    const { chance, temper, schedule } = this.scene;
    if (chance.happens(temper.outage)) {
      const ms = chance.pick([10, 100, 1_000, 8_000]);
      schedule.say("store", `is away for ${ms} ms`);
      this.scene.outageUntilMs = schedule.nowMs + ms;
    }
    if (chance.happens(temper.crash)) await this.crash();
    else if (chance.happens(temper.restart)) await this.restart();
  }

  async crash(): Promise<void> {
    this.scene.schedule.say("server", "CRASHES");
    this.#server.crash();
    await this.scene.schedule.beat("server", "starts again", { inMs: 10 });
    this.#server = this.#newServer();
    void this.#server.asked("recovery", this.#server.recover());
  }

  /** Stops in good order and starts again; sometimes the operator cannot wait for it. */
  async restart(): Promise<void> {
    await this.stop();
    this.#server = this.#newServer();
    void this.#server.asked("recovery", this.#server.recover());
  }

  async stop(): Promise<void> {
    const { chance, schedule, judge } = this.scene;
    const server = this.#server;
    const hurry = new AbortController();
    const inMs = chance.pick([0, 50, 60_000]);
    schedule.say("server", "is told to stop");
    const rush = schedule.add("server", "is told to hurry", () => hurry.abort(), { inMs });
    await server.asked("shutdown", server.shutDown(hurry.signal));
    rush();
    schedule.say("server", "has stopped");
    // Closing the store finishes what a client still waits for, and also what the server did
    // not wait for, because it would not come.
    const isAlone = server.open.size === 0 && !server.hasAbandoned;
    const left = schedule
      .pendingOf(server.number)
      .filter((thing) => thing.startsWith("clock") || (isAlone && !READS.test(thing)));
    judge.holds(left.length === 0, "P5", () => `after its end a server has left ${left}`);
    const agents = [...server.agents.open].map(({ name }) => name);
    judge.holds(agents.length === 0, "P5", () => `after its server's end there are ${agents}`);
    const lines = [...server.shell.open];
    judge.holds(lines.length === 0, "P5", () => `after its server's end, still at work: ${lines}`);
    const threads = [...(server.extensions?.open ?? [])].map(({ start }) => start.id);
    judge.holds(threads.length === 0, "P5", () => `after its server's end there are ${threads}`);
    const tools = [...(server.toolboxes?.opened.keys() ?? [])];
    judge.holds(tools.length === 0, "P5", () => `after its server's end there are ${tools}`);
    const { asking } = this.witness;
    judge.holds(asking === 0, "P5", () => `${asking} asks of agents were never answered`);
    schedule.forget(server.number);
  }

  #newServer(): SimulatedServer {
    const part = { number: this.#servers, settings: this.settings, flaw: this.#flaw };
    this.#servers += 1;
    return new SimulatedServer(this.scene, this.witness, part);
  }

  async #act(act: Act): Promise<void> {
    const { chance } = this.scene;
    const client = chance.among(this.#clients);
    if (client === undefined) return;
    const key = this.#someKey(client);
    this.scene.schedule.say("director", `${act} in ${nameOf(key)}`);
    if (act === "create") await this.#create(client);
    else if (act === "crowd") this.#crowd(client);
    else if (act === "storm") this.#storm(key);
    else if (act === "wait") await this.#wait();
    else if (act === "recover") await this.#recover();
    else if (act === "subscribe") this.#subscribe(key, 0);
    else if (act === "replay") await this.#replay(client, key);
    else if (act === "watch") this.#watch(client);
    else if (act === "unsubscribe") chance.among(this.subscribers)?.leave();
    else if (act === "retry") await client.retry();
    else if (isErrand(act)) await client.errands[act](key);
    else await client[act](key);
  }

  /** One of the client's tenant, most of the time: the others are not there for it. */
  #someKey({ tenantId }: Client): SessionKey {
    const { chance, disk, ids } = this.scene;
    const all = [...disk.logs.values()].filter((log) => disk.isAnnounced(log));
    const own = all.filter(({ key }) => key.tenantId === tenantId);
    const log = chance.among(chance.happens(0.96) ? own : all);
    const sessionId = chance.happens(0.98) ? log?.key.sessionId : undefined;
    return { tenantId, sessionId: sessionId ?? ids.session() };
  }

  /** Tenants know nothing of each other, so two of them may choose the same id. */
  #freshKey({ tenantId }: Client): SessionKey {
    const { chance, disk, ids, wanted } = this.scene;
    const taken = chance.happens(0.3) ? chance.among([...disk.known]) : undefined;
    const sessionId = taken === undefined ? ids.session() : idIn(taken);
    const key = { tenantId, sessionId };
    const isTaken = wanted.has(nameOf(key)) || disk.known.has(nameOf(key));
    return isTaken ? { tenantId, sessionId: ids.session() } : key;
  }

  async #create(client: Client, workspaceCwd?: string): Promise<void> {
    const { chance, schedule, wanted } = this.scene;
    const server = this.#server;
    const key = this.#freshKey(client);
    if (!server.isUp) return;
    const isShared = workspaceCwd === undefined && chance.happens(0.5);
    const creation: Creation = {
      ...CREATION,
      workspaceCwd: workspaceCwd ?? (isShared ? "/shared" : `/own/${key.sessionId}`),
      scope: isShared ? "single" : "thread",
      approvalMode: chance.pick(["default", "default", "auto-edit", "plan"]),
      modelConfig: { modelId: chance.pick([null, null, "model-a"]) },
    };
    wanted.set(nameOf(key), creation.workspaceCwd);
    const what = `creation of ${nameOf(key)}`;
    const { actor } = client;
    const made = await server.asked(what, server.runtime.create({ key, creation, actor }));
    const answer = made.ok ? nameOf(made.value.live.key) : made.refusal.code;
    schedule.say("answer", `${what}: ${answer}`);
    if (!made.ok) this.#refused(key, made.refusal.code);
    else if (chance.happens(0.1)) await this.#vanish(server, made.value.live, actor);
  }

  /** What a session cannot be without comes before it is stored at all. */
  #refused(key: SessionKey, code: string) {
    const { refused, disk, judge } = this.scene;
    refused.set(nameOf(key), code);
    const isForExtension = /^(extension|slot)_/.test(code);
    const isStored = isForExtension && disk.log(key) !== undefined;
    judge.holds(!isStored, "P1", () => `${nameOf(key)} was refused (${code}), and is stored`);
  }

  /** Its creator gets no answer. Without another client either, the session has never been. */
  async #vanish(server: SimulatedServer, live: LiveSession, actor: Actor): Promise<void> {
    const { disk, judge, isUndisturbed, known } = this.scene;
    const name = nameOf(live.key);
    const end = server.runtime.ownerVanished(live, actor);
    await server.asked(`end of ${name}, whose owner has vanished`, end);
    const isThere = disk.log(live.key) !== undefined;
    const isKept = isUndisturbed && isThere && !known.has(name) && !isShared(live);
    judge.holds(!isKept, "P5", () => `${name} is kept, and nobody knows of it`);
  }

  /** More sessions than may be live in one workspace. */
  #crowd(client: Client) {
    const { sessionsLiveMax } = this.settings;
    const count = (sessionsLiveMax ?? 0) + this.scene.chance.between(1, 3);
    for (let index = 0; index < count; index += 1) void this.#create(client, "/crowd");
  }

  /** Many come and go at once. */
  #storm(key: SessionKey) {
    const { chance } = this.scene;
    const clients = this.#clients.filter(({ tenantId }) => tenantId === key.tenantId);
    for (let count = chance.between(3, 8); count > 0; count -= 1) {
      const act = chance.pick(STORM);
      void chance.among(clients)?.[act](key);
    }
  }

  /** Waits long enough that the server evicts idle sessions. */
  async #wait(): Promise<void> {
    const { idleMs, reapMs } = this.settings;
    const inMs = (idleMs ?? 0) + 2 * reapMs;
    await this.scene.schedule.beat("director", "has waited", { inMs });
  }

  async #recover(): Promise<void> {
    const server = this.#server;
    if (server.isUp && !server.isStopping) await server.asked("recovery", server.recover());
  }

  #subscribe(key: SessionKey, after: number) {
    if (this.subscribers.length >= 6) return;
    const { chance } = this.scene;
    const clientId = chance.among(this.#clients)?.clientId ?? null;
    const reader = { clientId, after };
    const subscriber = new Subscriber(this.witness, key, () => this.#server, reader);
    this.subscribers.push(subscriber);
    void subscriber.follow();
  }

  /** A client that loads a session reads on where the replay ends. */
  async #replay({ errands }: Client, key: SessionKey): Promise<void> {
    const lastEventId = await errands.replay(key);
    if (lastEventId !== null) this.#subscribe(key, lastEventId);
  }

  #watch({ tenantId }: Client) {
    const server = this.#server;
    if (!server.isUp || server.isStopping || this.consoles.length >= 4) return;
    const console = new TenantReader(this.scene, server, tenantId);
    this.consoles.push(console);
    void console.follow();
  }
}

function isErrand(act: Act): act is ErrandAct {
  return ERRANDS.has(act);
}

const ERRANDS: ReadonlySet<Act> = new Set<ErrandAct>([
  "shell",
  "cancelTask",
  "model",
  "fork",
  "export",
  "delete",
  "btw",
  "recap",
]);

const STORM = ["attach", "attach", "detach", "detach", "resume"] as const;

/** Another client may have joined it by creating it once more. */
function isShared({ session }: LiveSession): boolean {
  return session.fixed.scope === "single";
}

function idIn(name: string): SessionId {
  return made(parseSessionId, name.slice(name.indexOf("/") + 1));
}

function settingsOf({ chance, children }: Scene): SessionSettings {
  return {
    ...DEFAULT_SESSION_SETTINGS,
    defaultAgent: "simulated",
    agentNames: ["simulated"],
    childrenOpenMax: children === null ? 0 : SIMULATED_CHILDREN_MAX,
    policy: chance.pick(["first-responder", "first-responder", "designated", "consensus"]),
    quorum: null,
    askMs: chance.pick([null, 50, 2_000]),
    settleMs: chance.pick([20, 1_000]),
    sessionsLiveMax: chance.pick([SESSIONS_LIVE_MAX, 2, 3]),
    idleMs: IDLE_MS,
    reapMs: REAP_MS,
    // Few lives are long enough for the usual figure.
    eventsKeptMax: chance.pick([EVENTS_KEPT_MAX, EVENTS_KEPT_MAX, 25]),
  };
}

/** Long within a life, and short for a reader of its clock. */
const IDLE_MS = 5 * 60 * 1_000;

/** What changes nothing may still be on its way when a server has ended. */
const READS = /^(store reads|extension are looked for)/;

const CREATION = { ...SAMPLE, storeId: "memory", activeAgent: "simulated" };

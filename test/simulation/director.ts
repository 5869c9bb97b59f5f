import type { TenantId } from "../../src/core/id.ts";
import { parseTenantId } from "../../src/core/id.ts";
import { SESSION_IDLE_MS, SESSION_REAP_MS } from "../../src/core/limits.ts";
import type { Creation } from "../../src/core/session/state.ts";
import type { LiveSession } from "../../src/session/live.ts";
import { DEFAULT_SESSION_SETTINGS, type SessionSettings } from "../../src/session/settings.ts";
import { CREATION as SAMPLE } from "../../src/session/world.fixture.ts";
import type { SessionKey } from "../../src/store/index.ts";
import type { Some } from "./chance.ts";
import { Client } from "./client.ts";
import type { Flaw } from "./flaws.ts";
import { made } from "./fresh-ids.ts";
import type { Scene } from "./scene.ts";
import { SimulatedServer } from "./simulated-server.ts";
import { Subscriber } from "./subscriber.ts";
import { Witness } from "./witness.ts";

/** Makes things happen: clients' acts, and what befalls the server. */
export class Director {
  readonly scene: Scene;
  readonly witness: Witness;
  readonly subscribers: Subscriber[] = [];
  readonly #clients: readonly Client[];
  readonly #flaw: Flaw;
  readonly #settings: SessionSettings;
  #server: SimulatedServer;
  #servers = 1;

  constructor(scene: Scene, flaw: Flaw) {
    this.scene = scene;
    this.#flaw = flaw;
    this.#settings = settingsOf(scene);
    this.witness = new Witness(scene);
    this.#server = this.#newServer();
    const count = scene.chance.between(1, 3);
    const current = () => this.#server;
    this.#clients = Array.from({ length: count }, () => new Client(scene, this.witness, current));
  }

  get live(): readonly LiveSession[] {
    return this.#server.runtime.liveOf(TENANT);
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

  /** What comes from nobody: outages, crashes and orderly restarts. */
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

  /** Stops in good order and starts again; sometimes somebody cannot wait for it. */
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
    // What somebody still waits for is finished by whoever closes the store, and so is what the
    // server did not wait for, because it would not come.
    const isAlone = server.open.size === 0 && !server.hasAbandoned;
    const left = schedule
      .pendingOf(server.number)
      .filter((thing) => thing.startsWith("clock") || (isAlone && !/^store reads/.test(thing)));
    judge.holds(left.length === 0, "P5", () => `after its end a server has left ${left}`);
    const agents = [...server.agents.open].map(({ name }) => name);
    judge.holds(agents.length === 0, "P5", () => `after its server's end there are ${agents}`);
    const { asking } = this.witness;
    judge.holds(asking === 0, "P5", () => `${asking} asks of agents were never answered`);
    schedule.forget(server.number);
  }

  #newServer(): SimulatedServer {
    const part = { number: this.#servers, settings: this.#settings, flaw: this.#flaw };
    this.#servers += 1;
    return new SimulatedServer(this.scene, this.witness, part);
  }

  async #act(act: Act): Promise<void> {
    const { chance } = this.scene;
    const client = chance.among(this.#clients);
    const key = this.#someKey();
    this.scene.schedule.say("director", `${act} in ${key.sessionId}`);
    if (client === undefined) return;
    if (act === "create") await this.#create(client);
    else if (act === "wait") await this.#wait();
    else if (act === "recover") await this.#recover();
    else if (act === "subscribe") this.#subscribe(key);
    else if (act === "unsubscribe") chance.among(this.subscribers)?.leave();
    else if (act === "retry") await client.retry();
    else await client[act](key);
  }

  #someKey(): SessionKey {
    const { chance, disk, ids } = this.scene;
    const log = chance.happens(0.98) ? chance.among([...disk.logs.values()]) : undefined;
    return log?.key ?? { tenantId: TENANT, sessionId: ids.session() };
  }

  async #create({ actor }: Client): Promise<void> {
    const { chance, ids, schedule } = this.scene;
    const server = this.#server;
    if (!server.isUp) return;
    const key = { tenantId: TENANT, sessionId: ids.session() };
    const isShared = chance.happens(0.5);
    const creation: Creation = {
      ...CREATION,
      workspaceCwd: isShared ? "/shared" : `/own/${key.sessionId}`,
      scope: isShared ? "single" : "thread",
      approvalMode: chance.pick(["default", "default", "auto-edit"]),
    };
    const what = `creation of ${key.sessionId}`;
    const made = await server.asked(what, server.runtime.create({ key, creation, actor }));
    const answer = made.ok ? made.value.live.key.sessionId : made.refusal.code;
    schedule.say("answer", `${what}: ${answer}`);
    if (!made.ok) this.scene.refused.set(key.sessionId, made.refusal.code);
    if (!made.ok || !chance.happens(0.1)) return;
    const vanished = server.runtime.ownerVanished(made.value.live);
    await server.asked(`end of ${key.sessionId}, whose owner has vanished`, vanished);
  }

  /** Long enough that whatever nobody uses is let go. */
  async #wait(): Promise<void> {
    const inMs = SESSION_IDLE_MS + 2 * SESSION_REAP_MS;
    await this.scene.schedule.beat("director", "has waited", { inMs });
  }

  async #recover(): Promise<void> {
    const server = this.#server;
    if (server.isUp && !server.isStopping) await server.asked("recovery", server.recover());
  }

  #subscribe(key: SessionKey) {
    if (this.subscribers.length >= 6) return;
    const subscriber = new Subscriber(this.scene, key, () => this.#server);
    this.subscribers.push(subscriber);
    void subscriber.follow();
  }
}

type Act = ClientAct | "create" | "wait" | "recover" | "subscribe" | "unsubscribe" | "retry";

type ClientAct =
  | "attach"
  | "detach"
  | "prompt"
  | "steer"
  | "cancel"
  | "remove"
  | "rename"
  | "close"
  | "resume"
  | "replay"
  | "vote";

const ACTS: Some<readonly [Act, number]> = [
  ["prompt", 14],
  ["retry", 4],
  ["vote", 8],
  ["cancel", 4],
  ["steer", 3],
  ["attach", 7],
  ["detach", 2],
  ["rename", 2],
  ["remove", 1],
  ["close", 1],
  ["resume", 1],
  ["replay", 1],
  ["create", 2],
  ["wait", 1],
  ["recover", 1],
  ["subscribe", 3],
  ["unsubscribe", 1],
];

const TENANT: TenantId = made(parseTenantId, "tenant");

function settingsOf({ chance }: Scene): SessionSettings {
  return {
    ...DEFAULT_SESSION_SETTINGS,
    defaultAgent: "simulated",
    policy: chance.pick(["first-responder", "first-responder", "designated", "consensus"]),
    quorum: null,
    askMs: chance.pick([null, 50, 2_000]),
    settleMs: chance.pick([20, 1_000]),
  };
}

const CREATION = { ...SAMPLE, storeId: "memory", activeAgent: "simulated" };

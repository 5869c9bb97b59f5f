import { RECOVERIES_AT_ONCE_MAX } from "../../src/core/limits.ts";
import { ok, type Result } from "../../src/core/result.ts";
import type { Command } from "../../src/core/session/command.ts";
import { OpenTurns } from "../../src/session/actor/open-turns.ts";
import type { Outcome } from "../../src/session/actor/written.ts";
import { SessionStreams } from "../../src/session/bus/streams.ts";
import { writeExport } from "../../src/session/export/export.ts";
import { SessionHost } from "../../src/session/host.ts";
import { KnownSnapshots } from "../../src/session/known-snapshots.ts";
import type { LiveSession } from "../../src/session/live.ts";
import type { Participant } from "../../src/session/participant.ts";
import { TenantGate } from "../../src/session/tenant/tenant-gate.ts";
import { NO_LOADER, NO_METER, NO_TOOLS } from "../../src/session/world.fixture.ts";
import type { SessionSettings, SessionWorld } from "../../src/session/world.ts";
import { holderOf } from "./disk.ts";
import type { Flaw } from "./flaws.ts";
import type { Scene } from "./scene.ts";
import { SimulatedAgents } from "./simulated-agents.ts";
import { SimulatedExtensions } from "./simulated-extensions.ts";
import { SimulatedShell } from "./simulated-shell.ts";
import { SimulatedStore } from "./simulated-store.ts";
import { SimulatedToolboxes } from "./simulated-toolboxes.ts";
import type { Witness } from "./witness.ts";

/** One server of a life, from its start to its crash or its end. */
export class SimulatedServer {
  readonly number: number;
  readonly settings: SessionSettings;
  readonly runtime: SessionHost;
  readonly agents: SimulatedAgents;
  readonly shell: SimulatedShell;
  /** Null in a life without children. */
  readonly toolboxes: SimulatedToolboxes | null;
  /** Null in a life without extensions. */
  readonly extensions: SimulatedExtensions | null;
  /** What was asked of it and not answered yet. */
  readonly open = new Map<number, string>();
  /** Whether it left a session as it was when it stopped, its store being silent. */
  hasAbandoned = false;
  isUp = true;
  isStopping = false;
  /** Resolves when it is over, for those who have no better way to notice. */
  readonly gone = Promise.withResolvers<void>();
  readonly #scene: Scene;
  readonly #witness: Witness;
  readonly #store: SimulatedStore;
  readonly #flaw: Flaw;
  #asked = 0;
  #recovered = 0;

  constructor(scene: Scene, witness: Witness, part: ServerPart) {
    const { number, flaw, settings } = part;
    this.number = number;
    this.settings = settings;
    this.#scene = scene;
    this.#witness = witness;
    this.#flaw = flaw;
    this.#store = new SimulatedStore(scene, number);
    this.toolboxes = scene.children && new SimulatedToolboxes(scene);
    this.agents = new SimulatedAgents(scene, number, this.toolboxes, {
      prompted: (agent, turn) => {
        witness.prompted(agent, turn, this.runtime.liveOf(agent.tenantId));
      },
      delegated: (tenantId, callId, answer) => witness.delegated(tenantId, callId, answer),
      answered: (optionId) => witness.agentAnswered(optionId),
      touches: (key) => witness.agentTouches(key),
      asking: (change) => {
        witness.asking += change;
      },
    });
    this.shell = new SimulatedShell(scene, number, (order) => witness.shellRan(order));
    this.extensions = extensionsFor(scene, number);
    const world = this.#world();
    const given = flaw.world?.(world, scene) ?? world;
    const runtime = new SessionHost(given, new WatchedStreams(given, witness, flaw));
    this.runtime = flaw.runtime?.(runtime, scene) ?? runtime;
  }

  #world(): SessionWorld {
    const { number, settings } = this;
    const scene = this.#scene;
    return {
      store: this.#store,
      agents: this.agents,
      loader: NO_LOADER,
      tools: NO_TOOLS,
      meter: NO_METER,
      shell: this.shell,
      ...(this.toolboxes && { toolboxes: this.toolboxes }),
      ...(this.extensions && { extensions: this.extensions.world }),
      // A process takes its time from the machine, and not from the simulated clock.
      exports: {
        open: async (exported, format) =>
          ok({ pieces: writeExport(exported, format), end: async () => {} }),
        end: async () => {},
      },
      holder: holderOf(number),
      tenants: new TenantGate(),
      turns: new OpenTurns(Number.POSITIVE_INFINITY),
      known: new KnownSnapshots(),
      clock: scene.schedule.clock(number),
      yield: () => scene.schedule.beat("server", "goes on", { server: number }),
      ids: scene.ids,
      redact: scene.words.redact,
      borders: scene.words.guard,
      settings,
      log: (what, about) => {
        scene.schedule.say("server", `${what} ${JSON.stringify(about)}`);
        if (what.startsWith("session abandoned")) this.hasAbandoned = true;
      },
    };
  }

  /** Watches that an answer comes, unless the server crashes before. */
  async asked<Value>(what: string, answer: Promise<Value>): Promise<Value> {
    this.#asked += 1;
    const number = this.#asked;
    this.open.set(number, what);
    const value = await answer;
    this.open.delete(number);
    return value;
  }

  submit(live: LiveSession, command: Command): Promise<Result<Outcome>> {
    const outcome = this.runtime.submit(live.key, command);
    return this.#flaw.reply?.(live, command) ?? outcome;
  }

  /** How many sessions it has opened because they had been left open, at most. */
  get recovered(): number {
    return this.#recovered + this.runtime.recovery.total;
  }

  /** Until nothing is left that only waits for the store. */
  async recover(): Promise<void> {
    while (!this.#flaw.forgetsToRecover && this.isUp && !this.isStopping) {
      this.#recovered += this.runtime.recovery.total + RECOVERIES_AT_ONCE_MAX;
      const recovery = await this.runtime.recover();
      this.#scene.schedule.say("server", `recovery: ${JSON.stringify(recovery)}`);
      const setAside = recovery.ok ? recovery.value.setAside : [{ reason: "store_unavailable" }];
      if (setAside.every(({ reason }) => reason !== "store_unavailable")) return;
      await this.#scene.schedule.beat("server", "tries to recover again", { inMs: 500 });
    }
  }

  /** Gone without a word: calls that wait for it are never answered. */
  crash() {
    this.isUp = false;
    this.#scene.schedule.forget(this.number);
    this.#store.crash();
    this.agents.open.clear();
    this.shell.open.clear();
    this.extensions?.open.clear();
    this.toolboxes?.crash();
    this.#witness.crashed();
    this.open.clear();
    this.gone.resolve();
  }

  async shutDown(hurry: AbortSignal): Promise<void> {
    this.isStopping = true;
    await this.runtime.shutDown(hurry);
    this.isUp = false;
    this.gone.resolve();
  }
}

function extensionsFor(scene: Scene, number: number): SimulatedExtensions | null {
  if (scene.extensions === null) return null;
  const { chance, judge } = scene.extensions;
  return new SimulatedExtensions(scene, chance, number, judge);
}

interface ServerPart {
  readonly number: number;
  readonly settings: SessionSettings;
  readonly flaw: Flaw;
}

/** The real streams, with an observer of all that they send. */
class WatchedStreams extends SessionStreams {
  readonly #witness: Witness;
  readonly #flaw: Flaw;

  constructor(world: SessionWorld, witness: Witness, flaw: Flaw) {
    super(world);
    this.#witness = witness;
    this.#flaw = flaw;
  }

  override join(live: LiveSession): Participant {
    const stream = super.join(live);
    return {
      durable: (written, session) => {
        const told = this.#flaw.told?.(written) ?? written;
        this.#witness.published(live, told);
        stream.durable?.(told, session);
      },
      follow: (session) => stream.follow?.(session),
      end: (why) => {
        if (why === null) this.#witness.held.letAllOut(live.key);
        else this.#witness.interrupted(live, why);
        return stream.end?.(why);
      },
    };
  }
}

import type { AgentTurn } from "../../src/agent/agent.ts";
import { promptText } from "../../src/core/agent-update.ts";
import type { Refusal } from "../../src/core/error.ts";
import type { TenantId } from "../../src/core/id.ts";
import { accessKey } from "../../src/core/policy/access.ts";
import type { Result } from "../../src/core/result.ts";
import { openChildren } from "../../src/core/session/child.ts";
import type { Session } from "../../src/core/session/state.ts";
import type { Outcome, Written } from "../../src/session/actor/written.ts";
import type { LiveSession } from "../../src/session/live.ts";
import type { ShellCommandLine } from "../../src/session/side/shell-command.ts";
import type { SessionKey } from "../../src/store/index.ts";
import { nameOf } from "./disk.ts";
import { HeldVerdicts } from "./held-verdicts.ts";
import type { Scene } from "./scene.ts";
import type { SimulatedAgent } from "./simulated-agent.ts";
import type { SimulatedServer } from "./simulated-server.ts";
import type { StoredLog } from "./stored-log.ts";
import { foreignWords, isAside } from "./words.ts";

/**
 * Sees everything that leaves a server (frames, answers, words to agents) and holds it against
 * the disk at that very moment: what is not there yet, a crash could undo (P1).
 */
export class Witness {
  readonly scene: Scene;
  readonly #told = new Map<string, number>();
  readonly #tails = new WeakMap<LiveSession, number>();
  readonly #ran = new Set<string>();
  readonly held: HeldVerdicts;
  /** Changes of a model without an answer yet, by the session's name and the model. */
  readonly #changes = new Map<string, number>();
  /** Asks that agents have open. */
  asking = 0;

  constructor(scene: Scene) {
    this.scene = scene;
    this.held = new HeldVerdicts(scene);
  }

  published(live: LiveSession, written: readonly Written[]) {
    const name = nameOf(live.key);
    const { schedule, disk } = this.scene;
    const log = disk.log(live.key);
    for (const { id, text, event } of written) {
      if (schedule.isTold) schedule.say("told", `${name} ${id} ${event.type}${detailsOf(text)}`);
      // One that was deleted meanwhile is not asked for.
      const isThere = log === undefined || log.texts[id - 1] === text;
      this.#holds(isThere, "P1", () => `${name} ${id} is not stored so`);
      const last = this.#told.get(name) ?? 0;
      this.#holds(id > last, "P3", () => `${name} ${id} was told after ${last}`);
      this.#told.set(name, id);
      const before = this.#tails.get(live) ?? id - 1;
      this.#holds(id === before + 1, "P3", () => `${name} ${id} was told after ${before}`);
      this.#tails.set(live, id);
    }
  }

  /** Its next words may follow a gap: streams end here, and come back by the store. */
  interrupted(live: LiveSession, { code }: Refusal) {
    this.scene.schedule.say("server", `${nameOf(live.key)} is interrupted: ${code}`);
    this.#tails.delete(live);
    this.held.letAllOut(live.key);
  }

  /** All that it knew of what is under way is void. */
  crashed() {
    this.asking = 0;
    this.held.clear();
    this.#changes.clear();
  }

  /** Evidence is what the log must say if the answer is yes. */
  answered(key: SessionKey, what: string, answer: Result<Outcome>, evidence: string | null) {
    const { disk } = this.scene;
    if (!answer.ok) return;
    const log = disk.log(key);
    // It was done, and then the whole session was deleted.
    if (log === undefined && disk.known.has(nameOf(key))) return;
    const stored = log?.lastId ?? 0;
    const { lastEventId } = answer.value;
    const isThere = lastEventId <= stored;
    this.#holds(isThere, "P1", () => `${what} speaks of ${lastEventId}, stored are ${stored}`);
    const isSaid = evidence === null || (log?.says(evidence) ?? false);
    this.#holds(isSaid, "P1", () => `${what} was acknowledged, and ${evidence} is not stored`);
  }

  prompted(agent: SimulatedAgent, { turnId, content }: AgentTurn, all: readonly LiveSession[]) {
    const text = promptText(content);
    const foreign = foreignWords(text, agent.tenantId);
    this.#holds(foreign === null, "P8", () => `${agent.name} is told ${foreign}`);
    if (isAside(content)) return;
    if (agent.isThrowAway) return this.#childPrompted(agent, text);
    const log = [...this.scene.disk.logs.values()].find((one) => one.hasTurn(turnId));
    this.#holds(log !== undefined, "P1", () => `${turnId} runs and is not stored`);
    const [last = ""] = content.slice(-1).map((block) => promptText([block]));
    for (const once of [turnId, last]) {
      this.#holds(!this.#ran.has(once), "P2", () => `"${last}" ran twice`);
      this.#ran.add(once);
    }
    const live = all.find(({ session }) => session.running?.turnId === turnId);
    const isOwn = log === undefined || log.key.tenantId === agent.tenantId;
    this.#holds(
      isOwn,
      "P8",
      () => `${agent.name} of ${agent.tenantId} works in ${log?.key.tenantId}`,
    );
    if (live !== undefined) this.#judgeSettings(agent, live);
  }

  /** Works on a task that its parent's log has, for a child that has begun. */
  #childPrompted({ name, tenantId }: SimulatedAgent, text: string) {
    const task = this.scene.words.redact(text);
    const own = [...this.scene.disk.logs.values()].filter((log) => log.key.tenantId === tenantId);
    const isStored = own.some(({ children }) => {
      return [...children.begun.values()].some((child) => child.task === task);
    });
    this.#holds(isStored, "P1", () => `${name} works on "${task}", which no child is to do`);
    this.#holds(!this.#ran.has(task), "P2", () => `"${task}" ran twice`);
    this.#ran.add(task);
  }

  /** An agent was told what a child has come to. */
  delegated(tenantId: TenantId, callId: string, answer: string) {
    const own = [...this.scene.disk.logs.values()].filter((log) => log.key.tenantId === tenantId);
    const isStored = own.some(({ children }) => {
      return children.ended.some(({ callId: of, state, text, error, usage }) => {
        const said = JSON.stringify({ state, text, ...(error && { error }), usage });
        return of === callId && said === answer;
      });
    });
    this.#holds(isStored, "P1", () => `${callId} is answered ${answer}, which is not stored`);
  }

  /** What the session is set to is what its agent is set to, or has said that it will not be. */
  #judgeSettings({ name, settings }: SimulatedAgent, { key, session }: LiveSession) {
    const { model, mode, refused, modes } = settings;
    const { modelId } = session.chosen.modelConfig;
    const isChanging = (this.#changes.get(`${nameOf(key)} ${model}`) ?? 0) > 0;
    const isModel = model === modelId || refused.model.has(modelId) || isChanging;
    this.#holds(isModel, "P7", () => `${name} has ${model}, ${nameOf(key)} has ${modelId}`);
    const { agentMode: wanted } = session.connection;
    const isRefused = refused.mode.size > 0 || modes === null;
    const isMode = wanted === null ? mode !== "plan" : mode === wanted;
    const sentence = () => `${name} is in mode ${mode}, ${nameOf(key)} wants ${wanted}`;
    this.#holds(isMode || isRefused, "P7", sentence);
  }

  /** A client has asked for another model, or has been answered. */
  modelAsked(key: SessionKey, modelId: string, change: 1 | -1) {
    const name = `${nameOf(key)} ${modelId}`;
    this.#changes.set(name, (this.#changes.get(name) ?? 0) + change);
  }

  shellRan({ command }: ShellCommandLine) {
    const line = this.scene.words.redact(command);
    const isStored = [...this.scene.disk.logs.values()].some((log) => log.shellLines.has(line));
    this.#holds(isStored, "P1", () => `"${line}" runs and is not stored`);
    this.#holds(!this.#ran.has(command), "P2", () => `"${line}" ran twice`);
    this.#ran.add(command);
  }

  agentAnswered(optionId: string) {
    const isStored = [...this.scene.disk.logs.values()].some((log) =>
      log.events.some(
        ({ type, data }) =>
          (type === "permission_resolved" || type === "permission_decided") &&
          data.outcome.outcome === "selected" &&
          // "Always" is kept by the server, and the agent is told that it may this once.
          data.outcome.optionId.replace("allow_always", "allow_once") === optionId,
      ),
    );
    this.#holds(isStored, "P1", () => `an agent was answered ${optionId}, which is not stored`);
  }

  agentTouches(key: string) {
    const isStored = [...this.scene.disk.logs.values()].some((log) =>
      log.events.some(({ type, data }) => {
        return type === "agent_access" && data.allowed && accessKey(data.access) === key;
      }),
    );
    this.#holds(isStored, "P1", () => `an agent does "${key}", and no event allows it`);
  }

  /** Whether what is in memory shows what the disk has at its place, and no more than it may. */
  look(all: readonly LiveSession[], server: SimulatedServer) {
    for (const { key, session, lastEventId } of all) {
      const log = this.scene.disk.log(key);
      if (log === undefined) continue;
      const shown = session.connection.sessionState;
      const stored = log.statusAt(lastEventId);
      const isThere = lastEventId <= log.lastId && stored === shown;
      const sentence = () => `${nameOf(key)} shows ${shown} at ${lastEventId}, stored is ${stored}`;
      this.#holds(isThere, "P1", sentence);
      if (lastEventId === log.lastId) this.#lookAt(session, log);
    }
    const limit = server.settings.sessionsLiveMax ?? Number.POSITIVE_INFINITY;
    const cap = limit + server.recovered + COMING_BACK_MAX;
    if (all.length > cap && this.scene.hasGoodStore) this.#judgeCap(all, cap);
  }

  #lookAt(session: Session, { key, settings, openShells, children }: StoredLog) {
    const { chosen, clients, shells, connection } = session;
    const atWork = openChildren(connection.turn).length;
    const kids = () => `${nameOf(key)} shows ${atWork} children, stored are ${children.open.size}`;
    this.#holds(atWork === children.open.size, "P1", kids);
    const { modelId } = chosen.modelConfig;
    const isSet = modelId === settings.modelId && chosen.approvalMode === settings.approvalMode;
    const sentence = () => `${nameOf(key)} is set to ${modelId}, ${chosen.approvalMode}`;
    this.#holds(isSet, "P7", sentence);
    const isSame = clients.size === settings.clients.size && shells.size === openShells.size;
    this.#holds(isSame, "P1", () => `${nameOf(key)} shows other clients or shells than stored`);
  }

  /** Recovery opens what it must, at the cap or not. */
  #judgeCap(all: readonly LiveSession[], cap: number) {
    const counts = new Map<string, number>();
    for (const { key } of all) {
      const place = `${key.tenantId} ${this.scene.wanted.get(nameOf(key))}`;
      counts.set(place, (counts.get(place) ?? 0) + 1);
    }
    for (const [place, count] of counts) {
      this.#holds(count <= cap, "P10", () => `${count} sessions are live in ${place}`);
    }
  }

  #holds(isSo: boolean, promise: string, otherwise: () => string) {
    this.scene.judge.holds(isSo, promise, otherwise);
  }
}

/**
 * A session on its way out may come back, because a client wants it after all or its store fails;
 * its place may have been taken by then. More than so many at a time have never been seen.
 */
const COMING_BACK_MAX = 2;

/** What makes an event's line worth reading. */
function detailsOf(text: string): string {
  const { data } = JSON.parse(text);
  const names = ["from", "to", "event", "promptId", "turnId", "requestId", "code", "stopReason"];
  const said = names.filter((name) => typeof data[name] === "string").map((name) => data[name]);
  return said.length === 0 ? "" : ` (${said.join(" ")})`;
}

import type { AgentTurn } from "../../src/agent/agent.ts";
import { promptText } from "../../src/core/agent-update.ts";
import type { Refusal } from "../../src/core/error.ts";
import type { Result } from "../../src/core/result.ts";
import type { Outcome } from "../../src/session/actor/actor.ts";
import type { Written } from "../../src/session/actor/written.ts";
import type { LiveSession } from "../../src/session/live.ts";
import type { SessionKey } from "../../src/store/index.ts";
import type { Scene } from "./scene.ts";

/**
 * Sees everything that leaves a server (frames, answers, words to agents) and holds it against
 * the disk at that very moment: what is not there yet, a crash could undo (P1).
 */
export class Witness {
  readonly #scene: Scene;
  readonly #told = new Map<string, number>();
  readonly #tails = new WeakMap<LiveSession, number>();
  readonly #ran = new Set<string>();
  /** Asks that agents have open. */
  asking = 0;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  published(live: LiveSession, written: readonly Written[]) {
    const { sessionId } = live.key;
    const log = this.#scene.disk.log(live.key);
    for (const { id, text, event } of written) {
      this.#scene.schedule.say("told", `${sessionId} ${id} ${event.type}${detailsOf(text)}`);
      // One that was deleted meanwhile is not asked for.
      const isThere = log === undefined || log.texts[id - 1] === text;
      this.#holds(isThere, "P1", () => `${sessionId} ${id} is not stored so`);
      const last = this.#told.get(sessionId) ?? 0;
      this.#holds(id > last, "P3", () => `${sessionId} ${id} was told after ${last}`);
      this.#told.set(sessionId, id);
      const before = this.#tails.get(live) ?? id - 1;
      this.#holds(id === before + 1, "P3", () => `${sessionId} ${id} was told after ${before}`);
      this.#tails.set(live, id);
    }
  }

  /** Its next words may follow a gap: streams end here, and come back by the store. */
  interrupted(live: LiveSession, { code }: Refusal) {
    this.#scene.schedule.say("server", `${live.key.sessionId} is interrupted: ${code}`);
    this.#tails.delete(live);
  }

  /** Evidence is what the log must say if the answer is yes. */
  answered(key: SessionKey, what: string, answer: Result<Outcome>, evidence: string | null) {
    const { schedule, disk } = this.#scene;
    schedule.say("answer", `${what}: ${answer.ok ? "yes" : answer.refusal.code}`);
    if (!answer.ok) return;
    const log = disk.log(key);
    const stored = log?.lastId ?? 0;
    const { lastEventId } = answer.value;
    const isThere = lastEventId <= stored;
    this.#holds(isThere, "P1", () => `${what} speaks of ${lastEventId}, stored are ${stored}`);
    const isSaid = evidence === null || (log?.says(evidence) ?? false);
    this.#holds(isSaid, "P1", () => `${what} was acknowledged, and ${evidence} is not stored`);
  }

  prompted({ turnId, content }: AgentTurn) {
    const text = promptText(content);
    const log = [...this.#scene.disk.logs.values()].find((one) => one.hasTurn(turnId));
    this.#holds(log !== undefined, "P1", () => `${turnId} runs and is not stored`);
    for (const once of [turnId, text]) {
      this.#holds(!this.#ran.has(once), "P2", () => `"${text}" ran twice`);
      this.#ran.add(once);
    }
  }

  agentAnswered(optionId: string) {
    const isStored = [...this.#scene.disk.logs.values()].some((log) =>
      log.events.some(
        ({ type, data }) =>
          (type === "permission_resolved" || type === "permission_decided") &&
          data.outcome.outcome === "selected" &&
          data.outcome.optionId === optionId,
      ),
    );
    this.#holds(isStored, "P1", () => `an agent was answered ${optionId}, which is not stored`);
  }

  /** Whether a session in memory shows what the disk has at its place. */
  look(all: readonly LiveSession[]) {
    for (const { key, session, lastEventId } of all) {
      const log = this.#scene.disk.log(key);
      const shown = session.connection.sessionState;
      const stored = log?.statusAt(lastEventId);
      const isThere = log === undefined || (lastEventId <= log.lastId && stored === shown);
      const sentence = `${key.sessionId} shows ${shown} at ${lastEventId}, stored is ${stored}`;
      this.#holds(isThere, "P1", () => sentence);
    }
  }

  #holds(isSo: boolean, promise: string, otherwise: () => string) {
    this.#scene.judge.holds(isSo, promise, otherwise);
  }
}

/** What makes an event's line worth reading. */
function detailsOf(text: string): string {
  const { data } = JSON.parse(text);
  const names = ["from", "to", "event", "promptId", "turnId", "requestId", "code", "stopReason"];
  const said = names.filter((name) => typeof data[name] === "string").map((name) => data[name]);
  return said.length === 0 ? "" : ` (${said.join(" ")})`;
}

import { VERDICT_HELD_MS_MAX } from "../../src/core/limits.ts";
import type { ReplayEvent } from "../../src/core/replay/window.ts";
import type { SessionReplay } from "../../src/session/replay.ts";
import type { SessionKey } from "../../src/store/index.ts";
import { nameOf } from "./disk.ts";
import type { Scene } from "./scene.ts";

interface Held {
  readonly name: string;
  readonly clientId: string;
  readonly untilMs: number;
}

/** Prompts whose clients have no answer yet: until then no stream of theirs has the verdicts. */
export class HeldVerdicts {
  readonly #scene: Scene;
  readonly #held = new Map<string, Held>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** The prompt was given to the server at that time, and its time limit begins then or later. */
  hold(key: SessionKey, prompt: { promptId: string; clientId: string }, givenMs: number) {
    const { promptId, clientId } = prompt;
    const untilMs = givenMs + VERDICT_HELD_MS_MAX;
    this.#held.set(promptId, { name: nameOf(key), clientId, untilMs });
  }

  answered(promptId: string) {
    this.#held.delete(promptId);
  }

  /** The streams of this session end, and what was kept back for them goes out before. */
  letAllOut(key: SessionKey) {
    const name = nameOf(key);
    for (const [promptId, held] of this.#held) if (held.name === name) this.#held.delete(promptId);
  }

  clear() {
    this.#held.clear();
  }

  /** A subscriber of this client was sent this event. A fork has verdicts that are not its own. */
  sent(key: SessionKey, clientId: string | null, text: string) {
    if (this.#held.size === 0 || !/"type":"turn_(complete|error)"/.test(text)) return;
    const { promptId } = JSON.parse(text).data;
    const { schedule, judge } = this.#scene;
    const held = this.#held.get(promptId);
    const isOwn = held?.name === nameOf(key) && held.clientId === clientId;
    const isHeld = isOwn && schedule.nowMs < held.untilMs;
    judge.holds(!isHeld, "Held", () => `the verdict of ${promptId} was sent too early`);
  }

  /** A replay shows everything up to its end once. */
  replayed(key: SessionKey, replay: SessionReplay) {
    const { disk, judge } = this.#scene;
    const log = disk.log(key);
    if (log === undefined) return;
    const { lastEventId, eventEpoch, compactedTexts, liveJournal } = replay;
    const isThere = lastEventId <= log.lastId && eventEpoch === log.epoch;
    judge.holds(isThere, "P1", () => `a replay of ${nameOf(key)} goes to ${lastEventId}`);
    const finished: readonly ReplayEvent[] = JSON.parse(compactedTexts.join(""));
    const shown = [...finished, ...liveJournal];
    const verdicts = shown.flatMap((event) => verdictIn(event) ?? []);
    const isCut = shown.some(({ type }) => type === "history_truncated");
    const stored = log.events.slice(0, lastEventId).flatMap((event) => verdictIn(event) ?? []);
    // Of a long past only the newest turns are shown, and it is said that there are older ones.
    const expected = replay.hasOlder ? stored.slice(-verdicts.length) : stored;
    const isSame = isCut || JSON.stringify(expected) === JSON.stringify(verdicts);
    const sentence = () =>
      `a replay of ${nameOf(key)} to ${lastEventId} has ${verdicts}: ${stored}`;
    judge.holds(isSame, "P3", sentence);
  }
}

function verdictIn(event: ReplayEvent): string | null {
  const isVerdict = event.type === "turn_complete" || event.type === "turn_error";
  return isVerdict ? event.data.promptId : null;
}

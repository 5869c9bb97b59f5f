import { VERDICT_HELD_MS_MAX } from "../../src/core/limits.ts";
import type { ReplayEvent } from "../../src/core/replay/window.ts";
import type { SessionReplay } from "../../src/session/replay.ts";
import type { SessionKey } from "../../src/store/index.ts";
import { nameOf } from "./disk.ts";
import type { Scene } from "./scene.ts";

/** Prompts whose callers have no answer yet: until then no stream may have their verdicts. */
export class HeldVerdicts {
  readonly #scene: Scene;
  readonly #held = new Map<string, { readonly name: string; readonly untilMs: number }>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** The prompt was given to the server at that time, which is when its patience begins at best. */
  hold(key: SessionKey, promptId: string, givenMs: number) {
    const untilMs = givenMs + VERDICT_HELD_MS_MAX;
    this.#held.set(promptId, { name: nameOf(key), untilMs });
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

  /** A subscriber was sent this event. */
  sent(key: SessionKey, text: string) {
    if (this.#held.size === 0 || !/"type":"turn_(complete|error)"/.test(text)) return;
    const { data } = JSON.parse(text);
    this.#judgeVerdict(key, data.promptId, "sent");
  }

  /** A replay shows everything up to its end once, and nothing that streams may not have yet. */
  replayed(key: SessionKey, replay: SessionReplay) {
    const { disk, judge } = this.#scene;
    const log = disk.log(key);
    if (log === undefined) return;
    const { lastEventId, eventEpoch, compactedReplay, liveJournal } = replay;
    const isThere = lastEventId <= log.lastId && eventEpoch === log.epoch;
    judge.holds(isThere, "P1", () => `a replay of ${nameOf(key)} goes to ${lastEventId}`);
    const shown = [...compactedReplay, ...liveJournal];
    const verdicts = shown.flatMap((event) => verdictIn(event) ?? []);
    for (const promptId of verdicts) this.#judgeVerdict(key, promptId, "shown");
    const isCut = shown.some(({ type }) => type === "history_truncated");
    const stored = log.events.slice(0, lastEventId).flatMap((event) => verdictIn(event) ?? []);
    // Of a long past only the newest turns are shown, and it is said that there are older ones.
    const expected = replay.hasOlder ? stored.slice(-verdicts.length) : stored;
    const isSame = isCut || JSON.stringify(expected) === JSON.stringify(verdicts);
    const sentence = () =>
      `a replay of ${nameOf(key)} to ${lastEventId} has ${verdicts}: ${stored}`;
    judge.holds(isSame, "P3", sentence);
  }

  /** A fork has the verdicts of its past, which are not its own. */
  #judgeVerdict(key: SessionKey, promptId: string, how: string) {
    const { schedule, judge } = this.#scene;
    const held = this.#held.get(promptId);
    const isHeld = held?.name === nameOf(key) && schedule.nowMs < held.untilMs;
    judge.holds(!isHeld, "Held", () => `the verdict of ${promptId} was ${how} too early`);
  }
}

function verdictIn(event: ReplayEvent): string | null {
  const isVerdict = event.type === "turn_complete" || event.type === "turn_error";
  return isVerdict ? event.data.promptId : null;
}

import { promptText } from "../../core/agent-update.ts";
import { type Refusal, sentenceOf } from "../../core/error.ts";
import type { TurnId } from "../../core/id.ts";
import type { GuardOpinion } from "../../core/policy/gate.ts";
import { DONE, type Result } from "../../core/result.ts";
import { type Announcement, SERVER } from "../../core/session/command.ts";
import type { SessionEvent, Skipped } from "../../core/session/event.ts";
import { listedSkipped } from "../../core/session/skipped.ts";
import type { RunningPrompt, Session } from "../../core/session/state.ts";
import type { ChosenExtensions, ExtensionCatalog } from "../../extension/catalog.ts";
import type { PromptFacts, TurnFacts } from "../../extension/hook.ts";
import {
  ABSENT,
  type ChangedSlots,
  type OwnedSlot,
  SessionExtensions,
  type TurnRuling,
} from "../../extension/session-extensions.ts";
import type { ThreadNote } from "../../extension/thread/messages.ts";
import type { SessionKey } from "../../store/store.ts";
import type { Written } from "../actor/written.ts";
import type { CommitStep, Participant, SessionSeat } from "../participant.ts";
import { type SessionWorld, stampedBy } from "../world.ts";
import { CallNotes } from "./call-notes.ts";
import { judgedCall, type WantedCall } from "./judged-calls.ts";
import type { TurnJudges } from "./judged-turns.ts";

/** Slots of others than the server, as they were found when the session was opened. */
export interface ForeignSlots {
  readonly slots: readonly OwnedSlot[];
  /** The owners of slots that cannot be read. */
  readonly damaged: readonly string[];
}

const UNJUDGED: TurnRuling = { denied: null, told: [] };

/** What became of the wish to have other extensions. */
export interface Reloaded {
  readonly reloaded: readonly string[];
  /** Until the turn at work has ended. */
  readonly waiting: readonly string[];
  /** Until the session is opened anew. */
  readonly kept: readonly string[];
  readonly skipped: readonly Skipped[];
}

export const NOTHING_RELOADED: Reloaded = { reloaded: [], waiting: [], kept: [], skipped: [] };

const NO_SLOTS: ForeignSlots = { slots: [], damaged: [] };

/** Which session it is. */
export interface ExtendedSession {
  readonly key: SessionKey;
  readonly workspaceCwd: string;
  readonly isResumed: boolean;
}

/** An extension wanted a slot that is not its own. */
interface SlotDenial {
  readonly [name: string]: string;
  readonly extension: string;
  readonly slot: string;
}

type ExtensionSeat = Pick<SessionSeat, "submit" | "recordAct" | "decided" | "settled">;

/** A reload that waits for the end of a turn, with those that it replaces. */
interface WaitingReload {
  readonly next: ChosenExtensions;
  readonly restarted: readonly string[];
}

/** A turn as its agent ends it. */
interface EndedTurn {
  readonly turnId: TurnId;
  readonly stopReason: string;
}

/**
 * The extensions of a session: brought up before it is new, or before it wakes; told what became
 * durable; their slots in the snapshots of its turns; taken down with it. The session goes on
 * without any of them (P6).
 */
export class ExtensionSide implements Participant, TurnJudges {
  readonly #world: SessionWorld;
  readonly #about: ExtendedSession;
  readonly #foreign: ForeignSlots;
  #extensions: SessionExtensions | null = null;
  #notes: CallNotes | null = null;
  /** The turn at work, which is told of when it has come to nothing. */
  #turn: TurnFacts | null = null;
  #comingUp: Promise<Result<void>> | null = null;
  #isUp = false;
  #isOver = false;
  #seat: ExtensionSeat | null = null;
  /** What the session is to have after the turn at work. */
  #next: WaitingReload | null = null;
  /** The first event of the turn at work, and the events of failed ones that are to come. */
  #turnFrom = 0;
  readonly #void: { readonly from: number; readonly to: number }[] = [];
  /** What was to be recorded before there was a session to record it of. */
  readonly #unrecorded: SlotDenial[] = [];
  /** What the last snapshot is made with, and what is on its way to the store. */
  #offered: ChangedSlots | null = null;
  readonly #onWay: (ChangedSlots | null)[] = [];

  constructor(world: SessionWorld, about: ExtendedSession, foreign: ForeignSlots = NO_SLOTS) {
    this.#world = world;
    this.#about = about;
    this.#foreign = foreign;
  }

  /** Refused only for a new session that cannot be without one of them. */
  bringUp(): Promise<Result<void>> {
    this.#comingUp ??= this.#bringUp().then((up) => {
      this.#isUp = up.ok;
      return up;
    });
    return this.#comingUp;
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** Whether the session has none, once that is known. */
  get isEmpty(): boolean {
    return this.#isUp && this.#extensions === null;
  }

  /** What is not here of it, with the reason; which owners are is not known before it is up. */
  get skipped(): readonly Skipped[] {
    const { slots, damaged } = this.#foreign;
    const isKnown = this.#isUp || this.#extensions !== null;
    const skipped = this.#extensions?.skipped ?? absent({ slots: isKnown ? slots : [], damaged });
    return skipped.map(({ name, reason }) => ({ name, reason: this.#world.redact(reason) }));
  }

  async #bringUp(): Promise<Result<void>> {
    const { extensions, clock, redact } = this.#world;
    if (extensions === undefined) return DONE;
    const { key, workspaceCwd, isResumed } = this.#about;
    const { tenantId, sessionId } = key;
    const chosen = await this.#chosen(extensions.catalog);
    const isEmpty = chosen.enabled.length + chosen.refused.length === 0;
    if (this.#isOver || isEmpty) return DONE;
    this.#extensions = new SessionExtensions({
      ...chosen,
      ...this.#foreign,
      session: { sessionId, workspaceCwd, isResumed },
      clock,
      startThread: extensions.threads.startFor(tenantId),
      redact,
      noted: (extension, note) => this.#noted(extension, note),
      told: ({ at, extension, step, failure }) => {
        const failed = failure === undefined ? {} : { failure: failure.code };
        this.#world.trace?.("extension", { sessionId, extension, step, at, ...failed });
      },
      dropped: (extension, why) => this.#dropped(extension, why),
    });
    this.#notes = new CallNotes(this.#extensions);
    return this.#extensions.bringUp();
  }

  /** A session is not kept from going on by what cannot be found out (P6). */
  async #chosen(catalog: ExtensionCatalog): Promise<ChosenExtensions> {
    const { key, workspaceCwd } = this.#about;
    const { tenantId, sessionId } = key;
    try {
      return await catalog.of({ tenantId, workspaceCwd });
    } catch (thrown) {
      const because = thrown instanceof Error ? thrown.message : String(thrown);
      this.#world.log("extensions not found", { sessionId, because });
      return { enabled: [], refused: [] };
    }
  }

  /** Whether a prompt is put to them before it goes to work. */
  get judgesTurns(): boolean {
    return this.#extensions?.has("before_turn") ?? false;
  }

  async judgeTurn(prompt: PromptFacts): Promise<TurnRuling> {
    return (await this.#extensions?.askTurn(prompt)) ?? UNJUDGED;
  }

  /** Whether what the agent wants to do is put to them. */
  get judgesCalls(): boolean {
    const extensions = this.#extensions;
    return extensions?.has("before_tool_call") === true || extensions?.has("before_ask") === true;
  }

  async judgeCall(session: Session, command: WantedCall): Promise<GuardOpinion | null> {
    return this.#extensions === null ? null : judgedCall(this.#extensions, session, command);
  }

  /** The session is there now. */
  join(seat: ExtensionSeat) {
    this.#seat = seat;
    for (const denial of this.#unrecorded.splice(0)) this.#recordDenial(denial);
  }

  #noted(extension: string, { kind, text }: ThreadNote) {
    if (kind === "denied") return this.#recordDenial({ extension, slot: text });
    const { sessionId } = this.#about.key;
    this.#world.log("extension says", { sessionId, extension, says: this.#world.redact(text) });
  }

  #recordDenial(denial: SlotDenial) {
    if (this.#seat === null) this.#unrecorded.push(denial);
    // A store that is away has its session opened anew; then this is lost with the rest.
    else void this.#seat.recordAct("slot_access_denied", denial).catch(() => {});
  }

  /** One that fails while it comes up is in the list of what was skipped. */
  #dropped(extension: string, why: Refusal) {
    if (!this.#isUp || this.#isOver) return;
    const { sessionId } = this.#about.key;
    this.#world.log("extension disabled", { sessionId, extension, because: why.code });
    const data = { extension, reason: this.#world.redact(sentenceOf(why)) };
    this.#announce({ type: "extension_disabled", data });
  }

  /**
   * The agent has ended the turn: resolves when all of it was taken in, so that what is kept by
   * that is stored with it. Undefined where none follows it, and nothing is waited for.
   */
  turnEnds({ turnId, stopReason }: EndedTurn): Promise<void> | undefined {
    const extensions = this.#extensions;
    if (extensions === null || !extensions.follows) return undefined;
    return this.#settled(extensions, { turnId, stopReason });
  }

  async #settled(extensions: SessionExtensions, { turnId, stopReason }: EndedTurn): Promise<void> {
    await this.#seat?.settled();
    await extensions.settled();
    const running = this.#seat?.decided.running;
    if (running?.turnId !== turnId) return;
    const outcome = stopReason === "cancelled" ? "cancelled" : "completed";
    await extensions.ask("after_turn", { ...factsOf(running), outcome });
  }

  /**
   * Has the session get the extensions that it is to have by now: what may not change in the middle
   * of a turn waits for its end, and what may not change at all stays as it is.
   */
  async reload(): Promise<Reloaded> {
    const extensions = this.#extensions;
    const { catalog } = this.#world.extensions ?? {};
    if (extensions === null || catalog === undefined || !this.#isUp) return NOTHING_RELOADED;
    const next = await this.#chosen(catalog);
    const { restarted, kept, isInTurn } = extensions.planReload(next);
    const isLater = this.#seat?.decided.running != null && !isInTurn;
    const reloaded = {
      reloaded: isLater ? [] : restarted,
      waiting: isLater ? restarted : [],
      kept,
    };
    await this.#seat?.recordAct("extensions_reloaded", { ...reloaded });
    if (isLater) this.#next = { next, restarted };
    else await this.#restart(extensions, { next, restarted });
    return { ...reloaded, skipped: listedSkipped(this.skipped) };
  }

  async #restart(extensions: SessionExtensions, reload: WaitingReload): Promise<void> {
    const { next, restarted } = reload;
    this.#next = null;
    this.#logFailures(await extensions.restart(next));
    if (restarted.length === 0 || this.#isOver) return;
    const data = { reloaded: restarted, skipped: listedSkipped(this.skipped) };
    this.#announce({ type: "extensions_reloaded", data });
  }

  #announce(announcement: Announcement) {
    const by = stampedBy(this.#world.clock, SERVER);
    void this.#seat?.submit({ ...by, type: "announce", announcement });
  }

  #logFailures(failures: readonly Refusal[]) {
    const { sessionId } = this.#about.key;
    for (const why of failures) {
      this.#world.log("extension not taken down", { sessionId, because: sentenceOf(why) });
    }
  }

  /** What they keep goes into the snapshot of a completed turn. */
  slots(last: readonly Written[]): ChangedSlots | null {
    const isKept = last.some(({ event }) => isEndOfTurn(event) && event.type === "turn_complete");
    this.#offered = isKept ? (this.#extensions?.changes ?? null) : null;
    return this.#offered;
  }

  journal(step: CommitStep) {
    const extensions = this.#extensions;
    if (step.kind !== "decision" || extensions === null) return [];
    for (const { id, event } of step.written) {
      if (isTurnStart(event)) {
        extensions.turnBegins();
        this.#turnFrom = id;
        const running = step.decision.session?.running ?? null;
        this.#turn = running === null ? null : factsOf(running);
      } else if (isEndOfTurn(event) && event.type === "turn_error") {
        extensions.takeBack();
        this.#void.push({ from: this.#turnFrom, to: id });
      } else if (isPersisted(event)) this.#onWay.push(this.#offered);
    }
    return [];
  }

  durable(written: readonly Written[], { chosen: { currentCwd } }: Session) {
    const extensions = this.#extensions;
    if (extensions === null) return;
    for (const { id, event } of written) {
      if (isPersisted(event)) this.#persisted(extensions);
      if (isEndOfTurn(event)) this.#turnEnded(extensions, event);
      if (this.#isVoid(id)) continue;
      this.#notes?.durable(event, currentCwd);
      extensions.tell(typeOf(event), event);
    }
  }

  #persisted(extensions: SessionExtensions) {
    this.#onWay.shift()?.isStored();
    const next = this.#next;
    // The next prompt waits for them where they have a say before turns.
    if (next !== null && !this.#isOver) void this.#restart(extensions, next);
  }

  /**
   * Whether it is of a turn that has come to nothing before they could be told of it: what they
   * would keep by it could not be taken back any more.
   */
  #isVoid(id: number): boolean {
    const first = this.#void[0];
    if (first === undefined || id < first.from) return false;
    if (id < first.to) return true;
    this.#void.shift();
    return false;
  }

  /** Of one that was completed they were told in time to keep something with it. */
  #turnEnded(extensions: SessionExtensions, { type, data: { turnId } }: EndOfTurn) {
    const turn = this.#turn;
    if (turn?.turnId !== turnId) return;
    this.#turn = null;
    if (type === "turn_error") extensions.note("after_turn", { ...turn, outcome: "failed" });
  }

  async end(): Promise<void> {
    this.#isOver = true;
    this.#logFailures((await this.#extensions?.takeDown()) ?? []);
  }
}

function factsOf({ turnId, promptId, content }: RunningPrompt): TurnFacts {
  return { turnId, promptId, text: promptText(content) };
}

type EndOfTurn = SessionEvent<"turn_complete" | "turn_error">;

/** A prompt that never ran has a verdict, too, and no turn. */
function isEndOfTurn(event: SessionEvent): event is EndOfTurn {
  const isVerdict = event.type === "turn_complete" || event.type === "turn_error";
  return isVerdict && event.data.turnId !== undefined;
}

function isTurnStart({ type, data }: SessionEvent): boolean {
  return type === "session_lifecycle" && data.event === "SessionTurnStart";
}

function isPersisted({ type, data }: SessionEvent): boolean {
  return type === "session_lifecycle" && data.event === "SessionPersisted";
}

/** Updates of an agent go by the name that its protocol has for them. */
function typeOf({ type, data }: SessionEvent): string {
  return type === "session_update" ? data.update.sessionUpdate : type;
}

/** All that no owner has been looked for. */
export function absent({ slots, damaged }: ForeignSlots): readonly Skipped[] {
  return [
    ...damaged.map((name) => ({ name, reason: "it is damaged" })),
    ...slots.map(({ owner }) => ({ name: owner, reason: ABSENT })),
  ];
}

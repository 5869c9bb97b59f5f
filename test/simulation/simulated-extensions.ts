import type { TenantId } from "../../src/core/id.ts";
import { DONE, fail, ok } from "../../src/core/result.ts";
import type { ChosenExtensions, EnabledExtension } from "../../src/extension/catalog.ts";
import { manifestOf } from "../../src/extension/manifest.fixture.ts";
import type { ExtensionManifest, SlotDeclaration } from "../../src/extension/manifest.ts";
import type { ExtensionAnswer, ThreadStart } from "../../src/extension/thread/messages.ts";
import type { ThreadOptions, ThreadRequest } from "../../src/extension/thread/thread.ts";
import type { RunningThread, StartThread } from "../../src/extension/thread/threads.ts";
import type { CallOff } from "../../src/platform/clock.ts";
import type { SessionWorld } from "../../src/session/world.ts";
import type { Chance } from "./chance.ts";
import type { ExtensionJudge } from "./extension-judge.ts";
import type { Scene } from "./scene.ts";

const IDS = ["keeper", "guard"] as const;

/**
 * The extensions of one server: from one server to the next they come, go, change their version and
 * drift. What their threads do is up to chance. None outlives its server.
 */
export class SimulatedExtensions {
  readonly chosen: ChosenExtensions;
  readonly #scene: Scene;
  readonly #chance: Chance;
  readonly #server: number;
  readonly #judge: ExtensionJudge;
  readonly open = new Set<SimulatedThread>();

  constructor(scene: Scene, chance: Chance, server: number, judge: ExtensionJudge) {
    this.#scene = scene;
    this.#chance = chance;
    this.#server = server;
    this.#judge = judge;
    const states = IDS.map(
      (id) => [id, chance.pick(["on", "on", "on", "off", "refused"])] as const,
    );
    const ids = (wanted: string) => states.flatMap(([id, state]) => (state === wanted ? [id] : []));
    const why = { code: "extension_untrusted", details: { folder: "/x", hash: "" } } as const;
    this.chosen = {
      enabled: ids("on").map((id) => this.#enabled(id)),
      refused: ids("refused").map((id) => {
        const details = { ...why.details, extension: id };
        return { id, why: { ...why, details }, isCritical: false, hooks: ["before_tool_call"] };
      }),
    };
    judge.serves(this.chosen);
  }

  get world(): NonNullable<SessionWorld["extensions"]> {
    const of = async () => {
      await new Promise<void>((resolve) => this.#next("are looked for", resolve));
      return this.chosen;
    };
    return {
      catalog: { of, reread: async () => DONE },
      threads: { startFor: (tenantId) => this.#startFor(tenantId) },
    };
  }

  #enabled(id: string): EnabledExtension {
    const chance = this.#chance;
    const stateSlot = {
      slotVersion: chance.pick(["1.0.0", "1.0.0", "2.0.0"]),
      schema: {},
      driftPolicy: chance.pick<Policy>(["migrate", "reject", "warn"]),
    } as const;
    const change: Partial<ExtensionManifest> = {
      stateSlot,
      dependsOn: id === "guard" && chance.happens(0.2) ? { keeper: "*" } : {},
      hooks: ["before_turn", "after_turn", "before_tool_call", "after_tool_call", "before_ask"],
      events: ["session_lifecycle", "agent_message_chunk"],
    };
    return {
      manifest: manifestOf(id, change),
      isCritical: chance.happens(0.1),
      config: {},
      code: "",
      module: async () => ok("simulated:"),
    };
  }

  #startFor(tenantId: TenantId): StartThread {
    return (start, options) => {
      if (this.#chance.happens(0.02)) {
        return fail("extension_limit", { extension: start.id, limit: 1 });
      }
      this.#judge.begins(tenantId, start);
      const thread = new SimulatedThread(start, options, {
        scene: this.#scene,
        chance: this.#chance,
        judge: this.#judge,
        next: (what, act) => this.#next(`${start.id} of ${start.session.sessionId} ${what}`, act),
        over: () => this.open.delete(thread),
      });
      this.open.add(thread);
      return ok(thread);
    };
  }

  #next(what: string, act: () => void): CallOff {
    const inMs = this.#chance.happens(0.1) ? this.#chance.pick([40, 2_500, 7_000]) : 0;
    return this.#scene.schedule.add("extension", what, act, { inMs, server: this.#server });
  }
}

type Policy = SlotDeclaration["driftPolicy"];

interface ThreadParts {
  readonly scene: Scene;
  readonly chance: Chance;
  readonly judge: ExtensionJudge;
  next(what: string, act: () => void): CallOff;
  over(): void;
}

/** What it keeps: the session that it is of, and the last turns that it was told of. */
interface Kept {
  readonly session: string;
  readonly turns: readonly string[];
  readonly text?: string;
}

interface Call {
  readonly request: ThreadRequest;
  settle(answer: ExtensionAnswer): void;
  fail(why: Error): void;
}

/** The thread of an extension that keeps a list of turns, judges calls, and is not always well. */
export class SimulatedThread implements RunningThread {
  readonly start: Omit<ThreadStart, "port">;
  readonly #options: ThreadOptions;
  readonly #parts: ThreadParts;
  readonly #gone = Promise.withResolvers<void>();
  readonly #calls: Call[] = [];
  #current: Call | null = null;
  #kept: Kept | null;
  #why: string | null = null;
  /** What it does at the moment is not done if it is ended. */
  #callOff: CallOff = () => {};

  constructor(start: Omit<ThreadStart, "port">, options: ThreadOptions, parts: ThreadParts) {
    this.start = start;
    this.#options = options;
    this.#parts = parts;
    this.#kept = start.slot === null ? null : JSON.parse(start.slot);
  }

  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  ask(request: ThreadRequest): Promise<ExtensionAnswer> {
    if (this.#why !== null) return Promise.reject(new Error(this.#why));
    const { promise, resolve, reject } = Promise.withResolvers<ExtensionAnswer>();
    const { msMax } = request;
    const late = () => this.end("it is late");
    const callOff = msMax === undefined ? () => {} : this.#options.clock.after(msMax, late);
    const settle = (answer: ExtensionAnswer) => {
      callOff();
      resolve(answer);
    };
    const failed = (why: Error) => {
      callOff();
      reject(why);
    };
    this.#calls.push({ request, settle, fail: failed });
    if (this.#current === null) void this.#work();
    return promise;
  }

  end(why: string) {
    if (this.#why !== null) return;
    this.#why = why;
    const lost = [this.#current, ...this.#calls.splice(0)].filter((call) => call !== null);
    this.#current = null;
    for (const call of lost) call.fail(new Error(why));
    this.#options.ended(why);
    this.#callOff();
    this.#parts.next("is gone", () => {
      this.#parts.over();
      this.#gone.resolve();
    });
  }

  async #work(): Promise<void> {
    const { chance } = this.#parts;
    for (let call = this.#calls.shift(); call !== undefined; call = this.#calls.shift()) {
      this.#current = call;
      const { request } = call;
      const what = `does ${request.hook ?? request.work}`;
      await new Promise<void>((resolve) => {
        this.#callOff = this.#parts.next(what, resolve);
      });
      // It hangs, and is ended when it is late.
      if (this.#isTroubled && chance.happens(0.01)) return;
      if (this.#isTroubled && chance.happens(0.01)) return this.end("it is gone");
      this.#current = null;
      if (this.#isTroubled && chance.happens(0.03)) call.fail(new Error("it throws"));
      else call.settle(this.#answer(request));
    }
  }

  /** At the end of a life nothing goes wrong any more. */
  get #isTroubled(): boolean {
    return this.#parts.scene.isTroubled;
  }

  #answer(request: ThreadRequest): ExtensionAnswer {
    const before = JSON.stringify(this.#kept);
    if (request.slot !== undefined) {
      this.#kept = request.slot === null ? null : JSON.parse(request.slot);
    }
    const known = request.slot === undefined ? before : (request.slot ?? "null");
    const text = JSON.stringify(this.#done(request));
    const now = JSON.stringify(this.#kept);
    const slot = now === known ? {} : { slot: this.#kept === null ? null : now };
    return { n: 0, isDone: true, text, notes: [], ...slot };
  }

  #done({ work, hook, about = "null" }: ThreadRequest): unknown {
    const told = JSON.parse(about);
    if (work === "migrate") return this.#migrated(told);
    if (work === "event") return this.#told(told);
    if (hook === "after_turn" && told.outcome !== "failed") this.#keep(told.turnId);
    if (hook === undefined || hook.startsWith("after_")) return null;
    return this.#verdict(hook, told);
  }

  #migrated({ value }: { readonly value: unknown }) {
    const { slotVersion = "" } = this.start.stateSlot ?? {};
    const isRight = !this.#isTroubled || !this.#parts.chance.happens(0.2);
    return { version: isRight ? slotVersion : "0.9.0", value };
  }

  #told(event: { readonly type: string; readonly data: Readonly<Record<string, unknown>> }) {
    const { turnId, event: name } = event.data;
    if (name === "SessionTurnStart" && typeof turnId === "string") this.#keep(turnId);
    return null;
  }

  #keep(turnId: string) {
    const { chance, scene } = this.#parts;
    const { sessionId: session } = this.start.session;
    const before = this.#kept?.turns.filter((one) => one !== turnId) ?? [];
    this.#kept = { session: this.#kept?.session ?? session, turns: [...before, turnId].slice(-20) };
    const isLarge = this.#isTroubled && chance.happens(0.005);
    if (isLarge) this.#kept = { ...this.#kept, text: "x".repeat(2_000_000) };
    else if (chance.happens(0.1)) this.#kept = { ...this.#kept, text: scene.words.secret };
  }

  #verdict(hook: string, facts: { readonly toolCallId?: string }) {
    const { chance, judge } = this.#parts;
    const verdict = chance.pick(["pass", "pass", "pass", "pass", "ask", "deny", "allow"]);
    // An id may be that of a call which is asked about again, so only what the server does counts.
    const isKnown = hook === "before_tool_call" && facts.toolCallId !== undefined;
    if (verdict === "deny" && isKnown) judge.denied(facts.toolCallId ?? "");
    return { verdict, reason: "by chance" };
  }
}

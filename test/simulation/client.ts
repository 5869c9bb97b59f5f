import { type ClientId, type PromptId, parseClientId } from "../../src/core/id.ts";
import { CANCELLED, selected } from "../../src/core/policy/ask.ts";
import type { Result } from "../../src/core/result.ts";
import type { Actor, Command, NewPrompt } from "../../src/core/session/command.ts";
import type { Outcome } from "../../src/session/actor/actor.ts";
import type { LiveSession } from "../../src/session/live.ts";
import type { SessionRuntime } from "../../src/session/runtime.ts";
import type { SessionKey } from "../../src/store/index.ts";
import { made } from "./fresh-ids.ts";
import type { Scene } from "./scene.ts";
import type { SimulatedServer } from "./simulated-server.ts";
import type { Witness } from "./witness.ts";

/** A prompt that may be sent again, because nobody knows whether it arrived. */
interface Sent {
  readonly key: SessionKey;
  readonly idempotencyKey: string;
  readonly text: string;
  promptId: PromptId | null;
}

/** Somebody who uses sessions, not always well. */
export class Client {
  readonly clientId: ClientId;
  readonly actor: Actor;
  readonly #scene: Scene;
  readonly #witness: Witness;
  readonly #server: () => SimulatedServer;
  readonly #sent: Sent[] = [];

  constructor(scene: Scene, witness: Witness, server: () => SimulatedServer) {
    this.#scene = scene;
    this.#witness = witness;
    this.#server = server;
    this.clientId = made(parseClientId, scene.ids.text("client"));
    const clientId = scene.chance.happens(0.2) ? null : this.clientId;
    this.actor = { kind: "client", clientId, userId: null, loopback: true };
  }

  attach(key: SessionKey) {
    return this.#ask(key, "attaches to", (runtime) => runtime.attach(key, this.actor));
  }

  detach(key: SessionKey) {
    const { clientId, actor } = this;
    return this.#ask(key, "detaches from", (runtime) => runtime.detach(key, clientId, actor));
  }

  resume(key: SessionKey) {
    return this.#ask(key, "resumes", (runtime) => runtime.resume(key, this.actor));
  }

  replay(key: SessionKey) {
    return this.#ask(key, "loads", (runtime) => runtime.replay(key, "full"));
  }

  async prompt(key: SessionKey) {
    const { chance, ids } = this.#scene;
    const text = ids.text("text");
    const isKeyed = chance.happens(0.6);
    const sent = { key, idempotencyKey: `key of ${text}`, text, promptId: null };
    if (isKeyed) this.#sent.push(sent);
    await this.#sendPrompt(sent, isKeyed);
  }

  /** Sends one of its prompts again, as clients do that missed the answer. */
  async retry() {
    const sent = this.#scene.chance.among(this.#sent);
    if (sent !== undefined) await this.#sendPrompt(sent, true);
  }

  async #sendPrompt(sent: Sent, isKeyed: boolean) {
    const { chance, ids, judge } = this.#scene;
    const start = { turnId: ids.turn(), reservedMicro: chance.under(1_000), price: null };
    const isStarted = chance.happens(0.8);
    const what = `prompts "${sent.text}"`;
    const outcome = await this.#send(sent.key, what, `"${sent.text}"`, (live) => {
      const prompt = this.#newPrompt(sent, live, isKeyed);
      return { ...this.#by(), type: "prompt", ...prompt, ...(isStarted && { start }) };
    });
    const answer = outcome?.answer ?? null;
    if (answer === null || !("promptId" in answer)) return;
    const isSame = sent.promptId === null || sent.promptId === answer.promptId;
    judge.holds(isSame, "P2", () => `one key was answered ${sent.promptId}, ${answer.promptId}`);
    sent.promptId = answer.promptId;
  }

  #newPrompt({ text, idempotencyKey }: Sent, live: LiveSession, isKeyed: boolean): NewPrompt {
    const { chance, ids, schedule } = this.#scene;
    const afterMs = chance.pick([null, null, null, 0, 1, 30, 500, 5_000]);
    return {
      promptId: ids.prompt(),
      content: [{ type: "text", text }],
      deadlineAtMs: afterMs === null ? null : schedule.nowMs + afterMs,
      idempotency: isKeyed ? { key: idempotencyKey, hash: text } : null,
      lastEventId: live.lastEventId,
      params: null,
      echo: chance.happens(0.5),
    };
  }

  steer(key: SessionKey) {
    const { ids } = this.#scene;
    const text = ids.text("text");
    const messageId = ids.text("message");
    const sent = { key, idempotencyKey: "", text, promptId: null };
    return this.#send(key, `steers "${text}"`, text, (live) => {
      const prompt = this.#newPrompt(sent, live, false);
      return { ...this.#by(), type: "steer", messageId, prompt, agentCanSteer: live.canSteer };
    });
  }

  cancel(key: SessionKey) {
    const evidence = `"prompt_cancelled"`;
    return this.#send(key, "cancels", evidence, () => ({ ...this.#by(), type: "cancel" }));
  }

  remove(key: SessionKey) {
    return this.#send(key, "takes a prompt back", null, ({ session }) => {
      const promptId = session.queue[0]?.promptId ?? this.#scene.ids.prompt();
      return { ...this.#by(), type: "remove_prompt", promptId };
    });
  }

  rename(key: SessionKey) {
    const displayName = this.#scene.ids.text("name");
    return this.#send(key, `names it ${displayName}`, displayName, () => {
      return { ...this.#by(), type: "metadata", displayName };
    });
  }

  close(key: SessionKey) {
    return this.#send(key, "closes", null, () => ({ ...this.#by(), type: "close" }));
  }

  /** Any ask that was ever made, open or not; or one that nobody made. */
  vote(key: SessionKey) {
    const { chance, disk, ids } = this.#scene;
    const logs = [...disk.logs.values()].filter(({ asks }) => asks.length > 0);
    const open = logs.filter(({ openAsks }) => openAsks.size > 0);
    const log = chance.among(open.length > 0 && chance.happens(0.8) ? open : logs);
    const ask = chance.happens(0.8) ? log?.asks.at(-1) : chance.among(log?.asks ?? []);
    const requestId = ask?.requestId ?? ids.ask();
    const optionId = chance.among(ask?.options ?? [])?.optionId ?? "no-such-option";
    const isYes = chance.happens(0.7);
    const outcome = isYes ? selected(optionId) : CANCELLED;
    const there = log?.key ?? key;
    return this.#send(there, `votes on ${requestId}`, `"${requestId}"`, () => {
      return { ...this.#by(), type: "vote", requestId, outcome };
    });
  }

  /** Null if there is no such session, or the server went away. */
  async #send(
    key: SessionKey,
    what: string,
    evidence: string | null,
    make: (live: LiveSession) => Command,
  ): Promise<Outcome | null> {
    const server = this.#server();
    if (!server.isUp) return null;
    const sentence = `${this.clientId} ${what} in ${key.sessionId}`;
    const answer = async (): Promise<Result<Outcome>> => {
      const live = await server.runtime.find(key);
      return live.ok ? server.submit(live.value, make(live.value)) : live;
    };
    const answered = await server.asked(sentence, answer());
    this.#witness.answered(key, sentence, answered, evidence);
    return answered.ok ? answered.value : null;
  }

  /** Some acts are more than one command. */
  async #ask(
    key: SessionKey,
    what: string,
    act: (runtime: SessionRuntime) => Promise<Result<unknown>>,
  ) {
    const server = this.#server();
    if (!server.isUp) return;
    const sentence = `${this.clientId} ${what} ${key.sessionId}`;
    const answered = await server.asked(sentence, act(server.runtime));
    const answer = answered.ok ? "yes" : answered.refusal.code;
    this.#scene.schedule.say("answer", `${sentence}: ${answer}`);
  }

  #by() {
    return { atMs: this.#scene.schedule.nowMs, actor: this.actor };
  }
}

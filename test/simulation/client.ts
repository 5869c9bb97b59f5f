import { type ClientId, type PromptId, parseClientId, type TenantId } from "../../src/core/id.ts";
import { CANCELLED, selected } from "../../src/core/policy/ask.ts";
import { APPROVAL_MODES } from "../../src/core/policy/risk.ts";
import type { Result } from "../../src/core/result.ts";
import {
  type Actor,
  type Command,
  clientOf,
  type NewPrompt,
} from "../../src/core/session/command.ts";
import type { Outcome } from "../../src/session/actor/written.ts";
import type { LiveSession } from "../../src/session/live.ts";
import type { SessionKey } from "../../src/store/index.ts";
import { Desk } from "./desk.ts";
import { Errands } from "./errands.ts";
import { made } from "./fresh-ids.ts";
import type { Scene } from "./scene.ts";
import type { SimulatedServer } from "./simulated-server.ts";
import type { Witness } from "./witness.ts";

/** A prompt that the client may send again, because it does not know whether it arrived. */
interface Sent {
  readonly key: SessionKey;
  readonly idempotencyKey: string;
  readonly text: string;
  promptId: PromptId | null;
}

/** A client that uses sessions, not always well. */
export class Client {
  readonly clientId: ClientId;
  readonly actor: Actor;
  readonly tenantId: TenantId;
  readonly errands: Errands;
  readonly #scene: Scene;
  readonly #witness: Witness;
  readonly #desk: Desk;
  readonly #server: () => SimulatedServer;
  readonly #sent: Sent[] = [];

  constructor(witness: Witness, server: () => SimulatedServer, tenantId: TenantId) {
    const { scene } = witness;
    this.#scene = scene;
    this.#witness = witness;
    this.#server = server;
    this.tenantId = tenantId;
    this.clientId = made(parseClientId, scene.ids.text("client"));
    const clientId = scene.chance.happens(0.2) ? null : this.clientId;
    this.actor = { kind: "client", clientId, userId: null, loopback: true };
    this.#desk = new Desk(scene, this.clientId, server);
    this.errands = new Errands(witness, this.#desk, this);
  }

  async attach(key: SessionKey) {
    const what = `attaches to ${key.sessionId}`;
    await this.#desk.ask(what, ({ runtime }) => runtime.attach(key, this.actor), key);
  }

  async detach(key: SessionKey) {
    const { clientId, actor } = this;
    const what = `detaches from ${key.sessionId}`;
    await this.#desk.ask(what, ({ runtime }) => runtime.detach(key, clientId, actor), key);
  }

  async resume(key: SessionKey) {
    const what = `resumes ${key.sessionId}`;
    await this.#desk.ask(what, ({ runtime }) => runtime.resume(key, this.actor), key);
  }

  async prompt(key: SessionKey) {
    const { chance, words } = this.#scene;
    const text = words.text("text", key.tenantId);
    const isKeyed = chance.happens(0.6);
    const sent = { key, idempotencyKey: words.redact(`key of ${text}`), text, promptId: null };
    if (isKeyed) this.#sent.push(sent);
    await this.#sendPrompt(sent, isKeyed);
  }

  /** Sends one of its prompts again, as clients do that missed the answer. */
  async retry() {
    const sent = this.#scene.chance.among(this.#sent);
    if (sent !== undefined) await this.#sendPrompt(sent, true);
  }

  async #sendPrompt(sent: Sent, isKeyed: boolean) {
    const { chance, ids, judge, words } = this.#scene;
    const start = { turnId: ids.turn(), reservedMicro: chance.under(1_000), price: null };
    const isStarted = chance.happens(0.8);
    const evidence = words.redact(sent.text);
    const give = chance.happens(0.5) ? this.#giveHeld : this.#give;
    const outcome = await this.#send(sent.key, `prompts "${evidence}"`, `"${evidence}"`, (live) => {
      const prompt = this.#newPrompt(sent, live, isKeyed);
      const started = isStarted ? { start } : {};
      return give(live, { ...this.#by(), type: "prompt", ...prompt, ...started });
    });
    const answer = outcome?.answer ?? null;
    if (answer === null || !("promptId" in answer)) return;
    const isSame = sent.promptId === null || sent.promptId === answer.promptId;
    judge.holds(isSame, "P2", () => `one key was answered ${sent.promptId}, ${answer.promptId}`);
    sent.promptId = answer.promptId;
  }

  #give = (live: LiveSession, command: Command) => this.#server().submit(live, command);

  /** Its verdict is kept back until the answer is here, which may be late, or never. */
  #giveHeld = async (
    { key }: LiveSession,
    command: Command<"prompt">,
  ): Promise<Result<Outcome>> => {
    const { chance, schedule } = this.#scene;
    const { held } = this.#witness;
    const { promptId } = command;
    const givenMs = schedule.nowMs;
    const clientId = clientOf(command.actor);
    if (clientId !== null) held.hold(key, { promptId, clientId }, givenMs);
    const admitted = await this.#server().runtime.admit(key, command);
    if (!admitted.ok) {
      held.answered(promptId);
      return admitted;
    }
    const inMs = chance.pick([0, 5, 100, 1_000, null]);
    const arrive = () => {
      held.answered(promptId);
      admitted.value.hold.answered("settled");
    };
    if (inMs !== null) schedule.add(this.clientId, `hears of ${promptId}`, arrive, { inMs });
    return admitted;
  };

  #newPrompt({ text, idempotencyKey }: Sent, live: LiveSession, isKeyed: boolean): NewPrompt {
    const { chance, ids, schedule } = this.#scene;
    const afterMs = chance.pick([null, null, null, 0, 1, 30, 500, 5_000]);
    return {
      promptId: ids.prompt(),
      content: [{ type: "text", text }],
      deadlineAtMs: afterMs === null ? null : schedule.nowMs + afterMs,
      idempotency: isKeyed ? { key: idempotencyKey, hash: idempotencyKey } : null,
      lastEventId: live.lastEventId,
      params: null,
      echo: chance.happens(0.5),
    };
  }

  steer(key: SessionKey) {
    const { ids, words } = this.#scene;
    const text = words.text("text", key.tenantId);
    const messageId = ids.text("message");
    const sent = { key, idempotencyKey: "", text, promptId: null };
    const evidence = words.redact(text);
    return this.#command(key, `steers "${evidence}"`, evidence, (live) => {
      const prompt = this.#newPrompt(sent, live, false);
      return {
        ...this.#by(),
        type: "steer",
        messageId,
        prompt,
        agentCanSteer: live.agent?.offer.canSteer ?? false,
      };
    });
  }

  cancel(key: SessionKey) {
    const evidence = `"prompt_cancelled"`;
    return this.#command(key, "cancels", evidence, () => ({ ...this.#by(), type: "cancel" }));
  }

  remove(key: SessionKey) {
    return this.#command(key, "takes a prompt back", null, ({ session }) => {
      const promptId = session.queue[0]?.promptId ?? this.#scene.ids.prompt();
      return { ...this.#by(), type: "remove_prompt", promptId };
    });
  }

  rename(key: SessionKey) {
    const { words } = this.#scene;
    const displayName = words.text("name", key.tenantId);
    const evidence = words.redact(displayName);
    return this.#command(key, `names it ${evidence}`, evidence, () => {
      return { ...this.#by(), type: "metadata", displayName };
    });
  }

  approve(key: SessionKey) {
    const mode = this.#scene.chance.pick(APPROVAL_MODES);
    return this.#command(key, `wants mode ${mode}`, null, () => {
      return { ...this.#by(), type: "approval_mode", mode, persisted: false };
    });
  }

  chooseMode(key: SessionKey) {
    const mode = this.#scene.chance.pick([null, "plan", "code"]);
    return this.#command(key, `wants its agent in mode ${mode}`, null, () => {
      return { ...this.#by(), type: "agent_mode", mode };
    });
  }

  close(key: SessionKey) {
    return this.#command(key, "closes", null, () => ({ ...this.#by(), type: "close" }));
  }

  /** Votes on any ask that was ever made, open or not; or on one that was never made. */
  vote(key: SessionKey) {
    const { chance, disk, ids } = this.#scene;
    const logs = [...disk.logs.values()].filter(
      (log) => log.asks.length > 0 && log.key.tenantId === this.tenantId,
    );
    const open = logs.filter(({ openAsks }) => openAsks.size > 0);
    const log = chance.among(open.length > 0 && chance.happens(0.8) ? open : logs);
    const ask = chance.happens(0.8) ? log?.asks.at(-1) : chance.among(log?.asks ?? []);
    const requestId = ask?.requestId ?? ids.ask();
    const optionId = chance.among(ask?.options ?? [])?.optionId ?? "no-such-option";
    const isYes = chance.happens(0.7);
    const outcome = isYes ? selected(optionId) : CANCELLED;
    const there = log?.key ?? key;
    return this.#command(there, `votes on ${requestId}`, `"${requestId}"`, () => {
      return { ...this.#by(), type: "vote", requestId, outcome };
    });
  }

  #command(
    key: SessionKey,
    what: string,
    evidence: string | null,
    make: (live: LiveSession) => Command,
  ) {
    return this.#send(key, what, evidence, (live) => this.#give(live, make(live)));
  }

  /** Null if there is no such session, or the server went away. */
  async #send(
    key: SessionKey,
    what: string,
    evidence: string | null,
    give: (live: LiveSession) => Promise<Result<Outcome>>,
  ): Promise<Outcome | null> {
    const sentence = `${what} in ${key.sessionId}`;
    const answered = await this.#desk.ask(
      sentence,
      async ({ runtime }) => {
        const live = await runtime.find(key);
        return live.ok ? give(live.value) : live;
      },
      key,
    );
    if (answered === null) return null;
    this.#witness.answered(key, sentence, answered, evidence);
    return answered.ok ? answered.value : null;
  }

  #by() {
    return { atMs: this.#scene.schedule.nowMs, actor: this.actor };
  }
}

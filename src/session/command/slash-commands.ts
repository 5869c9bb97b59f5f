import { refusal } from "../../core/error.ts";
import type { PromptId } from "../../core/id.ts";
import { stringAt } from "../../core/json.ts";
import { AGENT_COMMANDS_MS_MAX, SUBMIT_TRIES_MAX } from "../../core/limits.ts";
import { DONE, ok, type Result } from "../../core/result.ts";
import { type CommandData, SERVER } from "../../core/session/command.ts";
import type { Session, SlashWork, WaitingPrompt } from "../../core/session/state.ts";
import type { SkillEntry } from "../../core/skill/skill.ts";
import { slashTextOf } from "../../core/slash/commands.ts";
import * as reply from "../../core/slash/reply.ts";
import { resolveSlash, type SlashMeaning } from "../../core/slash/resolve.ts";
import type { Clock } from "../../platform/clock.ts";
import type { TurnBySlash } from "../actor/turn-queue.ts";
import { ensureAgent } from "../eviction.ts";
import { NO_KNOWLEDGE, readKnowledge } from "../knowledge.ts";
import type { LiveSession } from "../live.ts";
import type { Participant } from "../participant.ts";
import { promptForbidden, slashSettings } from "../tenant/policy-check.ts";
import { availableCommands } from "../view/agent-state.ts";
import { type SessionWorld, stampedBy } from "../world.ts";
import type { BuiltInCommands } from "./built-in-commands.ts";

/** What a command has to say, and what it does to its session at the same time. */
export type Answered = Pick<CommandData["command_result"], "result" | "effect">;

/**
 * Carries out prompts that begin with a slash, when they are next in their session. The server's
 * own commands are done here and answered in one commit, without a turn; everything else goes on
 * to be a turn. A server that dies in between has done nothing: the prompt is still next.
 */
export class SlashCommands implements Participant {
  readonly #world: SessionWorld;
  readonly #builtIns: BuiltInCommands;
  readonly #live: LiveSession;

  constructor(world: SessionWorld, builtIns: BuiltInCommands, live: LiveSession) {
    this.#world = world;
    this.#builtIns = builtIns;
    this.#live = live;
  }

  follow(session: Session) {
    const live = this.#live;
    const prompt = live.queue.nextSlash(session);
    if (prompt === null || IN_PROGRESS.get(live) === prompt.promptId) return;
    const { promptId } = prompt;
    const { tenantId } = live.key;
    IN_PROGRESS.set(live, promptId);
    const done = this.#carryOut(prompt)
      .catch((thrown: unknown) => this.#failed(promptId, thrown))
      .finally(() => {
        if (IN_PROGRESS.get(live) === promptId) IN_PROGRESS.delete(live);
      });
    // A command may make a session or keep a snapshot, and no request waits for it.
    void this.#world.tenants.count(tenantId, done);
  }

  async #carryOut(prompt: WaitingPrompt): Promise<void> {
    const live = this.#live;
    const { key, session } = live;
    const { promptId } = prompt;
    const answer = (answered: Answered) => this.#answer(promptId, answered);
    // Its user may have been removed since it was admitted.
    const gone = await promptForbidden(this.#world, live, prompt, {});
    if (gone !== null) return answer({ result: reply.commandRefused(gone) });
    const known = await readKnowledge(this.#world, key.tenantId, session.chosen);
    const line = slashTextOf(prompt.content) ?? "";
    if (!known.ok && !isWithoutSkills(line)) {
      return answer({ result: reply.commandRefused(known.refusal) });
    }
    const { skills } = known.ok ? known.value : NO_KNOWLEDGE;
    const ours = resolveSlash(line, skills, []);
    const own = isNotOurs(ours) ? await agentCommands(this.#world, live) : ok([]);
    // Only the agent can say whether it knows such a command.
    if (!own.ok) return answer({ result: reply.commandRefused(own.refusal) });
    const meaning = isNotOurs(ours) ? resolveSlash(line, skills, own.value) : ours;
    if (meaning.kind === "refused") return answer({ result: meaning.result });
    if (meaning.kind !== "built_in") {
      const slash = turnBySlash(meaning);
      const settings = slashSettings(live.session, slash);
      const forbidden = await promptForbidden(this.#world, live, prompt, settings);
      if (forbidden !== null) return answer({ result: reply.commandRefused(forbidden) });
      const paid = slash.work === "tool" ? DONE : await live.credit.affordable(prompt.userId);
      // It was not weighed when it was admitted, and must not block the queue now.
      if (!paid.ok) return answer({ result: reply.commandRefused(paid.refusal) });
      return live.queue.proceed(promptId, slash);
    }
    await this.#builtIns.carryOut({ live, prompt, skills, ...meaning, answer });
  }

  /** A command that throws has its verdict, too (P2). */
  #failed(promptId: PromptId, thrown: unknown): Promise<void> {
    this.#world.log("command failed", { promptId, because: String(thrown) });
    const result = reply.commandRefused(refusal("internal_error"));
    return this.#answer(promptId, { result });
  }

  /** What cannot be done now is answered with why; a prompt that is gone, not at all. */
  async #answer(promptId: PromptId, answered: Answered): Promise<void> {
    const { result, effect } = answered;
    for (let tries = 0; tries < SUBMIT_TRIES_MAX; tries += 1) {
      const by = stampedBy(this.#world.clock, SERVER);
      const what = { promptId, result, ...(effect !== undefined && { effect }) };
      const { refusal: why } = await this.#live.insist({ ...by, type: "command_result", ...what });
      if (why === null || why.code === "prompt_not_next") return;
      // A store that is away brings the session back by itself, and the prompt with it.
      if (why.code === "store_unavailable") continue;
      if (effect === undefined) return;
      return this.#answer(promptId, { result: reply.commandRefused(why) });
    }
  }
}

/** The prompt that is carried out for a session. It goes on while the session is opened again. */
const IN_PROGRESS = new WeakMap<LiveSession, PromptId>();

/** Whether a line needs no skills: above all, what repairs a lost snapshot (P6). */
function isWithoutSkills(line: string): boolean {
  const meaning = resolveSlash(line, NO_KNOWLEDGE.skills, []);
  return meaning.kind === "built_in" && meaning.name !== "skills" && meaning.name !== "help";
}

function turnBySlash(meaning: Extract<SlashMeaning, { kind: "skill" | "agent" }>): TurnBySlash {
  if (meaning.kind === "agent") return { work: "agent", skill: null };
  return { work: workOf(meaning.entry), skill: meaning.entry.skill_name };
}

function workOf({ invocation_mode: mode }: SkillEntry): SlashWork {
  return mode === "tool_dispatch" ? "tool" : "skill";
}

/** Then it may be the agent's; only it knows its own commands. */
function isNotOurs(meaning: SlashMeaning): boolean {
  if (meaning.kind !== "refused") return false;
  const { code } = meaning.result;
  return code === "unknown_command" || code === "alias_ambiguous";
}

/**
 * The names of the commands that a session's agent has said are its own; without an agent they
 * are unknown. An agent often says so a moment after it has come: one that has just come and said
 * nothing gets that moment.
 */
export async function agentCommands(
  { store, clock }: SessionWorld,
  live: LiveSession,
): Promise<Result<readonly string[]>> {
  const why = await ensureAgent(live);
  if (why !== null) return { ok: false, refusal: why };
  const untilMs = (live.agentSide.link?.sinceMs ?? clock.nowMs()) + AGENT_COMMANDS_MS_MAX;
  while (true) {
    const offered = await availableCommands(store, live);
    if (!offered.ok) return offered;
    const leftMs = untilMs - clock.nowMs();
    if (offered.value.length > 0 || leftMs <= 0) {
      return ok(offered.value.flatMap((command) => stringAt(command, "name") ?? []));
    }
    await changeWithin(clock, leftMs, live);
  }
}

function changeWithin(clock: Clock, ms: number, live: LiveSession): Promise<void> {
  return new Promise((resolve) => {
    const callOff = clock.after(ms, resolve);
    void live.changed().then(() => {
      callOff();
      resolve();
    });
  });
}

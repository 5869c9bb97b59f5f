import { refusal } from "../../core/error.ts";
import type { PromptId } from "../../core/id.ts";
import { SUBMIT_TRIES_MAX } from "../../core/limits.ts";
import { DONE, ok } from "../../core/result.ts";
import { type CommandData, SERVER } from "../../core/session/command.ts";
import type { SlashWork, WaitingPrompt } from "../../core/session/state.ts";
import type { SkillEntry } from "../../core/skill/skill.ts";
import { slashTextOf } from "../../core/slash/commands.ts";
import * as reply from "../../core/slash/reply.ts";
import { resolveSlash, type SlashMeaning } from "../../core/slash/resolve.ts";
import { NO_KNOWLEDGE, readKnowledge } from "../choice/knowledge.ts";
import { givenBy } from "../given-by.ts";
import type { LiveSession } from "../live.ts";
import { slashPaid } from "../meter/index.ts";
import type { SessionWorld } from "../world.ts";
import { agentCommands } from "./agent-commands.ts";
import type { BuiltInCommands } from "./built-in-commands.ts";

/** What a command has to say, and what it does to its session at the same time. */
export type Answered = Pick<CommandData["command_result"], "result" | "effect">;

/**
 * Sees to prompts that begin with a slash, when they are next in their session. What is ours is
 * done here and answered in one commit, without a turn; everything else goes on to be a turn. A
 * server that dies in between has done nothing: the prompt is still next.
 */
export class CommandDesk {
  readonly #world: SessionWorld;
  readonly #builtIns: BuiltInCommands;
  readonly #inHand = new WeakMap<LiveSession, PromptId>();

  constructor(world: SessionWorld, builtIns: BuiltInCommands) {
    this.#world = world;
    this.#builtIns = builtIns;
  }

  /** However often it is said, a prompt is seen to once. */
  take(live: LiveSession, prompt: WaitingPrompt) {
    const { promptId } = prompt;
    if (this.#inHand.get(live) === promptId) return;
    this.#inHand.set(live, promptId);
    const seenTo = this.#seeTo(live, prompt)
      .catch((thrown: unknown) => this.#stumbled(live, promptId, thrown))
      .finally(() => {
        if (this.#inHand.get(live) === promptId) this.#inHand.delete(live);
      });
    // A command may make a session or keep a snapshot, and no request waits for it.
    void this.#world.tenants.count(live.key.tenantId, seenTo);
  }

  async #seeTo(live: LiveSession, prompt: WaitingPrompt): Promise<void> {
    const { key, session } = live;
    const { promptId } = prompt;
    const answer = (answered: Answered) => this.#answer(live, promptId, answered);
    const known = await readKnowledge(this.#world.store, key.tenantId, session.chosen);
    const line = slashTextOf(prompt.content) ?? "";
    if (!known.ok && !isWithoutSkills(line)) {
      return answer({ result: reply.commandRefused(known.refusal) });
    }
    const { skills } = known.ok ? known.value : NO_KNOWLEDGE;
    const ours = resolveSlash(line, skills, []);
    const own = isNotOurs(ours) ? await agentCommands(this.#world, live) : ok([]);
    // Without an agent nobody can say that it is unknown.
    if (!own.ok) return answer({ result: reply.commandRefused(own.refusal) });
    const meaning = isNotOurs(ours) ? resolveSlash(line, skills, own.value) : ours;
    if (meaning.kind === "refused") return answer({ result: meaning.result });
    if (meaning.kind !== "built_in") {
      const work = meaning.kind === "agent" ? "agent" : workOf(meaning.entry);
      const paid = work === "tool" ? DONE : await slashPaid(this.#world, live, prompt);
      // It was not weighed when it came, and must not stand in everybody's way now.
      if (!paid.ok) return answer({ result: reply.commandRefused(paid.refusal) });
      return live.proceed(promptId, work);
    }
    await this.#builtIns.carryOut({ live, prompt, skills, ...meaning, answer });
  }

  /** Whatever a command stumbles over, it has its verdict (P2). */
  #stumbled(live: LiveSession, promptId: PromptId, thrown: unknown): Promise<void> {
    this.#world.log("command failed", { promptId, because: String(thrown) });
    const result = reply.commandRefused(refusal("internal_error"));
    return this.#answer(live, promptId, { result });
  }

  /** What cannot be done now is answered with why; a prompt that is gone, not at all. */
  async #answer(live: LiveSession, promptId: PromptId, answered: Answered): Promise<void> {
    const { result, effect } = answered;
    for (let tries = 0; tries < SUBMIT_TRIES_MAX; tries += 1) {
      const by = givenBy(this.#world.clock, SERVER);
      const what = { promptId, result, ...(effect !== undefined && { effect }) };
      const { refusal: why } = await live.insist({ ...by, type: "command_result", ...what });
      if (why === null || why.code === "prompt_not_next") return;
      // A store that is away brings the session back by itself, and the prompt with it.
      if (why.code === "store_unavailable") continue;
      if (effect === undefined) return;
      return this.#answer(live, promptId, { result: reply.commandRefused(why) });
    }
  }
}

/** Whether a line is for us whatever the skills are: above all, what mends a lost snapshot (P6). */
function isWithoutSkills(line: string): boolean {
  const meaning = resolveSlash(line, NO_KNOWLEDGE.skills, []);
  return meaning.kind === "built_in" && meaning.name !== "skills" && meaning.name !== "help";
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

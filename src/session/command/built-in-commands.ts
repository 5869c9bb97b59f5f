import { createHash } from "node:crypto";
import { sentenceOf } from "../../core/error.ts";
import { parseSessionId, type SessionId } from "../../core/id.ts";
import { TURNS_DRAINED_MAX } from "../../core/limits.ts";
import type { Result } from "../../core/result.ts";
import { creationSettings } from "../../core/session/bounded.ts";
import { type Actor, SERVER } from "../../core/session/command.ts";
import { isVerdict } from "../../core/session/event.ts";
import { isRegistered, type Session, type WaitingPrompt } from "../../core/session/state.ts";
import { isSeenByOthers, sharingOf } from "../../core/session/visibility.ts";
import { WORKFLOW_ACTS } from "../../core/session/workflow.ts";
import type { SkillSnapshot } from "../../core/skill/skill.ts";
import { firstWord } from "../../core/slash/commands.ts";
import * as reply from "../../core/slash/reply.ts";
import type { OwnCommand, SlashMeaning } from "../../core/slash/resolve.ts";
import type { FoldedTurn } from "../../store/store.ts";
import type { CreationRequest, SessionCreation } from "../actor/open.ts";
import type { Choices, ReloadType } from "../choice/choices.ts";
import type { LiveSession } from "../live.ts";
import { eventsIn } from "../replay.ts";
import { promptForbidden } from "../tenant/policy-check.ts";
import { modelIds } from "../view/agent-state.ts";
import { askingNow } from "../view/approvals.ts";
import { foundWorkflow, listWorkflows } from "../workflow/start.ts";
import type { SessionWorld } from "../world.ts";
import { type Answered, agentCommands } from "./slash-commands.ts";

/** What commands can do beyond answering; it is all done elsewhere. */
export interface CommandDeps {
  readonly choices: Choices;
  /** Makes a session beside this one. */
  create(request: CreationRequest): Promise<Result<unknown>>;
}

export type BuiltInCall = Extract<SlashMeaning, { kind: "built_in" }> & {
  readonly live: LiveSession;
  readonly prompt: WaitingPrompt;
  readonly skills: SkillSnapshot;
  answer(answered: Answered): Promise<void>;
};

/** Our own commands, as they are carried out. None of them reaches a model. */
export class BuiltInCommands {
  readonly #world: SessionWorld;
  readonly #hands: CommandDeps;

  constructor(world: SessionWorld, hands: CommandDeps) {
    this.#world = world;
    this.#hands = hands;
  }

  /** Answers when the session has its answer. */
  async carryOut(order: BuiltInCall): Promise<void> {
    await this.#work[order.name](order);
  }

  readonly #work: Readonly<Record<OwnCommand, (order: BuiltInCall) => Promise<void>>> = {
    skills: ({ skills, answer }) => answer({ result: reply.skillsListed(skills) }),
    help: (order) => this.#help(order),
    agent: (order) => this.#agent(order),
    model: (order) => this.#model(order),
    status: ({ live, answer }) => {
      const asking = askingNow(this.#world, live);
      return answer({ result: reply.statusShown(live.session, asking) });
    },
    reload_skills: (order) => this.#reload(order, "reload_skills"),
    reload_persona: (order) => this.#reload(order, "reload_persona"),
    workflow: (order) => workflowCommand(this.#world, order),
    new: (order) => this.#new(order),
    "save-and-close": (order) => this.#saveAndClose(order),
  };

  async #help({ live, skills, args, answer }: BuiltInCall): Promise<void> {
    const [name] = args;
    if (name !== undefined) return answer({ result: reply.skillHelp(skills, name) });
    const own = live.agent === null ? null : await agentCommands(this.#world, live);
    return answer({ result: reply.commandHelp(skills, own?.ok ? own.value : []) });
  }

  async #agent({ live, prompt, args, answer }: BuiltInCall): Promise<void> {
    const [to] = args;
    const { agentNames } = this.#world.settings;
    const { activeAgent } = live.session.chosen;
    if (to === undefined || (to === "list" && !agentNames.includes(to))) {
      return answer({ result: reply.agentListed(activeAgent, agentNames) });
    }
    if (!agentNames.includes(to)) return answer({ result: reply.agentNotFound(to, agentNames) });
    const why = await promptForbidden(this.#world, live, prompt, { agent: to });
    if (why !== null) return answer({ result: reply.commandRefused(why) });
    await live.until(isSettled);
    const result = reply.agentSet(live.session.chosen.activeAgent, to);
    return answer({ result, effect: { type: "change_agent", to } });
  }

  async #model({ live, prompt, args, answer }: BuiltInCall): Promise<void> {
    const [modelId] = args;
    const { modelConfig } = live.session.chosen;
    if (modelId === undefined) {
      return answer({ result: reply.modelShown(modelConfig, modelsOf(live)) });
    }
    const why = await promptForbidden(this.#world, live, prompt, { model: modelId });
    if (why !== null) return answer({ result: reply.commandRefused(why) });
    const actor = actorOf(prompt, live.session);
    const changed = await this.#hands.choices.changeModel(live.key, { modelId }, actor);
    const now = live.session.chosen.modelConfig;
    const result = changed.ok
      ? reply.modelSet(now)
      : reply.modelFailed(modelId, now, sentenceOf(changed.refusal));
    return answer({ result });
  }

  async #reload(order: BuiltInCall, type: ReloadType): Promise<void> {
    const { reloads } = this.#hands.choices;
    const isSkills = type === "reload_skills";
    await reloads.inOrder(order.live, async () => {
      const reload = await reloads.prepare(order.live, type);
      if (!reload.ok) {
        const reason = sentenceOf(reload.refusal);
        const failed = isSkills ? reply.reloadUnavailable : reply.personaReloadFailed;
        return order.answer({ result: failed(reason) });
      }
      const { to, difference } = reload.value;
      const told = isSkills ? reply.skillsReloaded : reply.personaReloaded;
      const effect = { type, hash: to.hash, difference };
      return order.answer({ result: told(reload.value), effect });
    });
  }

  /**
   * A session like this one, and beside it. Its name follows from the prompt's, so that a server
   * that dies before it has said so finds it there, and makes no second one.
   */
  async #new({ live, prompt, answer }: BuiltInCall): Promise<void> {
    const { key, session } = live;
    const sessionId = namedAfter(prompt, session);
    if (sessionId === null) return;
    const creation = likeThis(session);
    const actor = makerOf(prompt);
    const why = await promptForbidden(this.#world, live, prompt, creationSettings(creation));
    if (why !== null) return answer({ result: reply.commandRefused(why) });
    const made = await this.#hands.create({ key: { ...key, sessionId }, creation, actor });
    if (made.ok || made.refusal.code === "session_id_conflict") {
      // A private session is its maker's, and all who see this one read the answer.
      const isHidden =
        creation.visibility === "private" &&
        isSeenByOthers(session.chosen.audience ?? null, prompt.userId);
      return answer({ result: reply.sessionCreated(isHidden ? null : sessionId) });
    }
    return answer({ result: reply.commandRefused(made.refusal) });
  }

  /** All prompts before this one have run by now. */
  async #saveAndClose({ live, prompt, answer }: BuiltInCall): Promise<void> {
    const failure = await live.snapshot();
    if (failure !== null) return answer({ result: reply.commandRefused(failure) });
    const { sessionId } = live.key;
    const location = `${this.#world.store.contract.storeId}:${sessionId}`;
    const turnsDrained = await this.#turnsSince(live, prompt.admittedAtMs);
    const result = reply.sessionSaved({ persisted: true, turnsDrained, location });
    return answer({ result, effect: { type: "close" } });
  }

  async #turnsSince({ key }: LiveSession, atMs: number): Promise<number> {
    const limit = this.#world.settings.pendingPromptsMax ?? TURNS_DRAINED_MAX;
    const before = Number.MAX_SAFE_INTEGER;
    const page = await this.#world.store.readTurns(key, { before, limit });
    const turns = page.ok ? page.value.rows : [];
    return turns.filter((turn) => endedSince(turn, atMs)).length;
  }
}

/** Whether a folded turn came to its end at this time or later; what never was a turn did not. */
function endedSince(turn: FoldedTurn, atMs: number): boolean {
  const end = eventsIn(turn).findLast((event) => isVerdict(event));
  if (end === undefined || !isVerdict(end)) return false;
  return end.data.turnId !== undefined && end._meta.serverTimestamp >= atMs;
}

/** An agent that is just coming or going cannot be exchanged for another. */
function isSettled({ connection: { sessionState } }: Session): boolean {
  return sessionState !== "activating" && sessionState !== "deactivating";
}

function modelsOf({ agent }: LiveSession): readonly string[] {
  return agent === null ? [] : modelIds(agent.offer);
}

/** A client that has left since was there when it asked: the server acts in its place. */
function actorOf({ clientId, userId, authority }: WaitingPrompt, session: Session): Actor {
  const hasLeft = clientId !== null && !isRegistered(session, clientId, userId);
  const role = authority && { role: authority.role };
  return hasLeft ? SERVER : { kind: "client", clientId, userId, ...role, loopback: false };
}

function namedAfter({ promptId }: WaitingPrompt, { sessionId }: Session): SessionId | null {
  const hash = createHash("sha256").update(`${sessionId} ${promptId}`).digest("hex");
  const [, a, b, c, d, e] = /^(.{8})(.{4}).(.{3}).(.{3})(.{12})/.exec(hash) ?? [];
  return parseSessionId(`${a}-${b}-4${c}-8${d}-${e}`);
}

/** The user of the prompt makes the session; without tokens the server does. */
function makerOf({ userId }: WaitingPrompt): Actor {
  return userId === null ? SERVER : { kind: "client", clientId: null, userId, loopback: false };
}

/** The same in everything that was chosen, and new in everything else. */
function likeThis({ fixed, chosen, connection }: Session): SessionCreation {
  const { workspaceCwd, securityMode, allowlist, storeId } = fixed;
  const { activeAgent, modelConfig, approvalMode, budgetMicro, monthBudgetMicro } = chosen;
  const { visibility } = sharingOf(chosen.audience ?? null, null);
  return {
    visibility,
    workspaceCwd,
    scope: "thread",
    securityMode,
    allowlist,
    storeId,
    source: { type: "command", id: "new" },
    parentSessionId: null,
    activeAgent,
    modelConfig,
    approvalMode,
    displayName: null,
    autonomyProfile: connection.autonomyProfile,
    budgetMicro,
    ...(monthBudgetMicro !== undefined && { monthBudgetMicro }),
  };
}

/** `/workflow`: what there is, where the session's own stands, and how it goes on. */
async function workflowCommand(
  world: SessionWorld,
  { live, rest, answer }: BuiltInCall,
): Promise<void> {
  const { word, rest: words } = firstWord(rest);
  const { session, key } = live;
  const { tenantId } = key;
  const place = { tenantId, workspaceCwd: session.fixed.workspaceCwd };
  if (word === "" || word === "status") return answer({ result: reply.workflowShown(session) });
  if (word === "list") {
    const listed = (await listWorkflows(world, place)).map(({ why, ...about }) => {
      return { ...about, why: why && sentenceOf(why) };
    });
    return answer({ result: reply.workflowsListed(listed) });
  }
  if (word === "start") {
    const { word: name, rest: input } = firstWord(words);
    const found = await foundWorkflow(world, place, { name, input });
    if (!found.ok) return answer({ result: reply.commandRefused(found.refusal) });
    const result = reply.workflowStarted(name);
    return answer({ result, effect: { type: "attach_workflow", workflow: found.value } });
  }
  const act = WORKFLOW_ACTS.find((known) => known === word);
  if (act === undefined || words !== "") return answer({ result: reply.wrongWorkflowWords() });
  const result = reply.workflowSteered(act, session);
  return answer({ result, effect: { type: "steer_workflow", act } });
}

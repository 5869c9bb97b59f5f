import { type Refusal, refusal } from "../../error.ts";
import { type AgentStatus, applySessionTransition, hasTurn } from "../../status.ts";
import { TURN_ERRORS } from "../../turn-error.ts";
import type { AgentStatusReport, Command } from "../command.ts";
import { type Decision, Draft, refused } from "../draft.ts";
import type { AgentExit, Drift, Skipped } from "../event.ts";
import type { Chosen, Session, Surroundings } from "../state.ts";
import { dropQueue, finishEnding } from "./instance.ts";
import { turnCompleted, turnFailed } from "./stop.ts";
import { endTurn, forwardFailed, turnError } from "./turn.ts";

/** Asks for an agent. A session at rest comes back to life by it. */
export function activate(session: Session, command: Command<"activate">): Decision {
  const draft = new Draft(session, command);
  startActivation(draft, command.skipped);
  return draft.accept();
}

/** What was skipped is told on every way of waking (P6). */
function startActivation(draft: Draft, skipped: readonly Skipped[] = []) {
  if (draft.session.phase === "Closed") {
    draft.enter("SessionResumeStarted", skipped.length === 0 ? {} : { skipped });
  }
  for (const key of draft.session.voidGrants) {
    draft.emit("session_grant_revoked", { key, reason: "rules_changed" });
  }
  draft.moveTo("activating", "activate");
}

/**
 * What was seen of the agent. `applySessionTransition` says where each status points; this adds
 * what a turn allows: `running` is entered by a prompt and left by a verdict, an ask, an error or a
 * teardown, and never because an agent says a word out of turn.
 */
export function report(session: Session, command: Command<"agent_status">): Decision {
  const draft = new Draft(session, command);
  const why = applyReport(draft, command);
  return why === null ? draft.accept() : refused(session, why);
}

function applyReport<Status extends AgentStatus>(draft: Draft, report: AgentStatusReport<Status>) {
  const reporter: Reporter<Status> = REPORTS[report.status];
  return reporter(draft, report);
}

/** Null is acceptance, perhaps without effect. */
type Reporter<Status extends AgentStatus> = (
  draft: Draft,
  report: AgentStatusReport<Status>,
) => Refusal | null;

const REPORTS: { readonly [Status in AgentStatus]: Reporter<Status> } = {
  created: instanceCreated,
  connected,
  turn_started: (draft) => onlyIn(draft, "running", "turn_started"),
  turn_complete: turnCompleted,
  turn_error: turnFailed,
  question_requested: (draft) => onlyIn(draft, "waiting", "question_requested"),
  approval_resolved: (draft) => onlyIn(draft, "running", "approval_resolved"),
  terminating,
  terminated,
  error: (draft, { message }) => failed(draft, message),
};

const literal = (draft: Draft, status: AgentStatus) => applySessionTransition(draft.state, status);

/** A repeat of what the session knows already is fine; anything else is out of turn. */
function onlyIn(draft: Draft, state: Draft["state"], status: AgentStatus): Refusal | null {
  return draft.state === state ? null : out(draft, status);
}

function out(draft: Draft, trigger: AgentStatus): Refusal {
  return refusal("agent_out_of_turn", { trigger, state: draft.state });
}

function instanceCreated(draft: Draft): Refusal | null {
  if (literal(draft, "created") === null) return onlyIn(draft, "activating", "created");
  startActivation(draft);
  return null;
}

function connected(draft: Draft, report: AgentStatusReport<"connected">): Refusal | null {
  if (draft.state !== "activating") return onlyIn(draft, "ready", "connected");
  const { agentSessionId, context, surroundings, epoch, usualMode, offer } = report;
  const { surroundings: before, chosen } = draft.session;
  const changes = driftSince(before, surroundings ?? null, chosen);
  draft.emit("agent_connected", {
    agentSessionId,
    context,
    ...(surroundings && { surroundings }),
    ...(epoch !== undefined && { epoch }),
    ...(usualMode !== undefined && { usualMode }),
    ...(offer !== undefined && { offer }),
  });
  if (changes.length > 0) draft.emit("session_drift", { changes });
  draft.moveTo("ready", "connected");
  return null;
}

/** What the agent offers has changed, by itself or because it was set to something else. */
export function offered(session: Session, command: Command<"agent_offer">): Decision {
  const draft = new Draft(session, command);
  const { offer } = command;
  const { agentOffer = null } = session;
  if (offer !== agentOffer) draft.emit("agent_offer", { offer });
  return draft.accept();
}

/** The instructions that the agent got; the log holds them whole. */
export function instructed(session: Session, command: Command<"instructed">): Decision {
  const draft = new Draft(session, command);
  const { via, text, skills, persona } = command;
  draft.emit("instructions_sent", { via, text, skills, persona }, session.running?.stamp);
  return draft.accept();
}

function terminating(draft: Draft): Refusal | null {
  if (literal(draft, "terminating") === null) return onlyIn(draft, "deactivating", "terminating");
  loseTurn(draft, "deactivating", "terminating");
  draft.moveTo("deactivating", "terminating");
  return null;
}

function terminated(draft: Draft): Refusal | null {
  if (hasTurn(draft.state)) return die(draft, UNSEEN_EXIT, "");
  if (literal(draft, "terminated") === null) return onlyIn(draft, "inactive", "terminated");
  draft.moveTo("inactive", "terminated");
  finishEnding(draft);
  return null;
}

/** A failure that arrives after the agent was taken down is no news. */
function failed(draft: Draft, message: string): Refusal | null {
  if (literal(draft, "error") === null) return null;
  if (hasTurn(draft.state)) return die(draft, UNSEEN_EXIT, message);
  draft.moveTo("error", "error", { message });
  finishEnding(draft);
  return null;
}

const UNSEEN_EXIT: AgentExit = { exitCode: null, signalCode: null };

export function exit(session: Session, command: Command<"agent_exit">): Decision {
  const draft = new Draft(session, command);
  const { exitCode, signalCode, message } = command;
  if (draft.state === "deactivating") {
    draft.moveTo("inactive", "agent_exit");
    finishEnding(draft);
  } else if (draft.state === "activating") {
    draft.moveTo("error", "agent_exit", { message });
  } else {
    die(draft, { exitCode, signalCode }, message);
  }
  return draft.accept();
}

/** The agent is gone under a live session. What it was doing has its verdict; the queue stays. */
function die(draft: Draft, { exitCode, signalCode }: AgentExit, message: string): null {
  const { activeAgent } = draft.session.chosen;
  loseTurn(draft, "error", "agent_exit", exitMessage(activeAgent, message));
  draft.moveTo("error", "agent_exit", { message });
  const why = message === "" ? {} : { message };
  draft.emit("session_died", { reason: "channel_closed", exitCode, signalCode, ...why });
  return null;
}

/**
 * An agent's last output is usually the reason, and people have to act on it. If there
 * is none, or it may be about another session, the message says where to look.
 */
function exitMessage(agent: string, message: string): string {
  const lastOutput = message === "" ? " " : ` It last said: ${message}\n`;
  return (
    `${TURN_ERRORS.channel_closed}${lastOutput}Send the prompt again, and another is started; ` +
    `"fermata agents logs ${agent}" shows all that it said.`
  );
}

function loseTurn(
  draft: Draft,
  to: "error" | "deactivating",
  cause: "agent_exit" | "terminating",
  message?: string,
) {
  const verdict = turnError("channel_closed", message);
  forwardFailed(draft);
  endTurn(draft, { verdict, to, cause, asksEnd: "agent_gone", fate: "kept" });
}

/** No agent can be started: what waits for one fails, rather than waits for ever. */
export function unavailable(session: Session, command: Command<"agent_unavailable">): Decision {
  const draft = new Draft(session, command);
  dropQueue(draft, "agent_unavailable", command.message || undefined);
  return draft.accept();
}

/**
 * What is not as it was when the session last had an agent. What a client chose meanwhile is no
 * drift, and neither is what could not be seen, then or now.
 */
function driftSince(
  before: Surroundings | null,
  now: Surroundings | null,
  { modelConfig }: Pick<Chosen, "modelConfig">,
): readonly Drift[] {
  if (before === null || now === null) return [];
  const changes: readonly (Drift | null)[] = [
    change("agent", before.agent, now.agent),
    now.model === modelConfig.modelId ? null : change("model", before.model, now.model),
    change("skills", before.skills, now.skills),
    change("persona", before.persona, now.persona),
    change("mcp_servers", before.mcpServers.join(", "), now.mcpServers.join(", ")),
  ];
  return changes.filter((one) => one !== null);
}

function change(what: Drift["what"], from: string | null, to: string | null): Drift | null {
  return from === null || to === null || from === to ? null : { what, from, to };
}

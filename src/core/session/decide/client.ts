import type { AgentUpdate } from "../../agent-update.ts";
import { refusal } from "../../error.ts";
import { CLIENTS_MAX, SHELL_CONTEXT_CHARS_MAX, SHELLS_OPEN_MAX } from "../../limits.ts";
import { lastOfText } from "../../text.ts";
import { type Command, callerStamp, clientOf, userOf } from "../command.ts";
import { type Decision, Draft, refused } from "../draft.ts";
import { stampOf } from "../event.ts";
import { isRegistered, type Session } from "../state.ts";
import { firstAnswer, keyRefusal } from "./prompt.ts";
import { clientGone } from "./voter.ts";

/**
 * Registers a client, once more if it is known. An id stays with the user who registered it. At
 * the limit an idle client is evicted, unless one of its prompts has no verdict yet.
 */
export function attach(session: Session, command: Command<"attach">): Decision {
  const { clientId, idle } = command;
  const { sessionId, clients } = session;
  const userId = userOf(command.actor);
  const known = clients.has(clientId);
  if (known && !isRegistered(session, clientId, userId)) {
    return refused(session, refusal("invalid_client_id", { sessionId, clientId }));
  }
  const draft = new Draft(session, command);
  if (!known && clients.size >= CLIENTS_MAX) {
    const busy = new Set([session.running, ...session.queue].map((prompt) => prompt?.clientId));
    const evicted = idle.find((id) => clients.has(id) && !busy.has(id));
    if (evicted === undefined) {
      return refused(session, refusal("client_limit_exceeded", { limit: CLIENTS_MAX }));
    }
    draft.emit("client_expired", { clientId: evicted });
    clientGone(draft, evicted);
  }
  draft.emit("client_attached", { clientId, ...(userId && { userId }) });
  return draft.accept();
}

/** Detaching what is not attached is what it already is. */
export function detach(session: Session, command: Command<"detach">): Decision {
  const { clientId } = command;
  const draft = new Draft(session, command);
  const known = isRegistered(session, clientId, userOf(command.actor));
  if (known) {
    draft.emit("client_detached", { clientId });
    clientGone(draft, clientId);
  }
  return draft.accept();
}

export function expire(session: Session, command: Command<"client_expiry">): Decision {
  const { clientId } = command;
  const draft = new Draft(session, command);
  if (session.clients.has(clientId)) {
    draft.emit("client_expired", { clientId });
    clientGone(draft, clientId);
  }
  return draft.accept();
}

/** A shell command runs beside the turns; sent twice with one key, it runs once. */
export function shellStarted(session: Session, command: Command<"shell_started">): Decision {
  const { shellId, command: line, cwd, idempotency } = command;
  const first = firstAnswer(session, command, idempotency);
  if (first === "conflict") return refused(session, refusal("idempotency_conflict"));
  const draft = new Draft(session, command);
  if (first !== null) return draft.accept(first);
  const badKey = keyRefusal(idempotency);
  if (badKey !== null) return refused(session, badKey);
  if (session.shells.size >= SHELLS_OPEN_MAX || session.shells.has(shellId)) {
    return refused(session, refusal("shell_limit_exceeded", { limit: SHELLS_OPEN_MAX }));
  }
  const clientId = clientOf(command.actor);
  const userId = userOf(command.actor);
  const caller = { ...(clientId && { clientId }), ...(userId && { userId }) };
  const started = { shellId, command: line, cwd, ...caller, ...(idempotency && { idempotency }) };
  draft.emit("user_shell_command", started, callerStamp(command.actor));
  return draft.accept({ shellId });
}

export function shellOutput(session: Session, command: Command<"shell_output">): Decision {
  const { shellId, output } = command;
  const shell = session.shells.get(shellId);
  if (shell === undefined) return refused(session, refusal("shell_not_found", { shellId }));
  const draft = new Draft(session, command);
  const update: AgentUpdate = {
    sessionUpdate: "shell_output",
    output,
    _meta: { source: "user-shell", shellId },
  };
  draft.emit("session_update", { update }, stampOf(null, shell));
  return draft.accept();
}

/** The whole output has been streamed; the result repeats its end, for the agent's next prompt. */
export function shellResult(session: Session, command: Command<"shell_result">): Decision {
  const { shellId, exitCode, signal, aborted, error } = command;
  const shell = session.shells.get(shellId);
  if (shell === undefined) return refused(session, refusal("shell_not_found", { shellId }));
  const draft = new Draft(session, command);
  const output = lastOfText(command.output, SHELL_CONTEXT_CHARS_MAX);
  const result = { shellId, command: shell.command, exitCode, signal, aborted, output };
  const stamp = stampOf(null, shell);
  draft.emit("user_shell_result", error ? { ...result, error } : result, stamp);
  return draft.accept();
}

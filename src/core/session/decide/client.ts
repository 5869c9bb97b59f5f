import type { AgentUpdate } from "../../agent-update.ts";
import { refusal } from "../../error.ts";
import { CLIENTS_MAX, SHELL_CONTEXT_CHARS_MAX } from "../../limits.ts";
import { type Command, callerStamp, userOf } from "../command.ts";
import { type Decision, Draft, refused } from "../draft.ts";
import { isRegistered, type Session } from "../state.ts";

/** Registers a client, once more if it is known. An id stays with the user who registered it. */
export function attach(session: Session, command: Command<"attach">): Decision {
  const { clientId } = command;
  const { sessionId } = session;
  const userId = userOf(command.actor);
  const known = session.clients.has(clientId);
  if (known && !isRegistered(session, clientId, userId)) {
    return refused(session, refusal("invalid_client_id", { sessionId, clientId }));
  }
  if (!known && session.clients.size >= CLIENTS_MAX) {
    return refused(session, refusal("client_limit_exceeded", { limit: CLIENTS_MAX }));
  }
  const draft = new Draft(session, command);
  draft.emit("client_attached", { clientId, ...(userId && { userId }) });
  return draft.accept();
}

/** Detaching what is not attached is what it already is. */
export function detach(session: Session, command: Command<"detach">): Decision {
  const { clientId } = command;
  const draft = new Draft(session, command);
  const known = isRegistered(session, clientId, userOf(command.actor));
  if (known) draft.emit("client_detached", { clientId });
  return draft.accept();
}

export function expire(session: Session, command: Command<"client_expiry">): Decision {
  const { clientId } = command;
  const draft = new Draft(session, command);
  if (session.clients.has(clientId)) draft.emit("client_expired", { clientId });
  return draft.accept();
}

export function shellStarted(session: Session, command: Command<"shell_started">): Decision {
  const draft = new Draft(session, command);
  draft.emit(
    "user_shell_command",
    { command: command.command, cwd: command.cwd },
    callerStamp(command.actor),
  );
  return draft.accept();
}

export function shellOutput(session: Session, command: Command<"shell_output">): Decision {
  const draft = new Draft(session, command);
  const { output } = command;
  const update: AgentUpdate = {
    sessionUpdate: "shell_output",
    output,
    _meta: { source: "user-shell" },
  };
  draft.emit("session_update", { update }, callerStamp(command.actor));
  return draft.accept();
}

/** The whole output has been streamed; the result repeats its end, for the agent to be told. */
export function shellResult(session: Session, command: Command<"shell_result">): Decision {
  const draft = new Draft(session, command);
  const { exitCode, signal, aborted, error } = command;
  const output = command.output.slice(-SHELL_CONTEXT_CHARS_MAX);
  const result = { command: command.command, exitCode, signal, aborted, output };
  draft.emit(
    "user_shell_result",
    error ? { ...result, error } : result,
    callerStamp(command.actor),
  );
  return draft.accept();
}

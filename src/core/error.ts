/** What a caller may do about a refusal: nothing, the same later, or look again and then decide. */
type Retry = "never" | "later" | "reread";

interface Row {
  readonly status: number;
  readonly retry: Retry;
  readonly name: `${string}/${string}`;
  readonly says: string;
}

/**
 * Every refusal a caller can see, one row each: HTTP status, advice, the `Class/Code` name of the
 * specifications, and the sentence. A test holds docs/errors.md to this table, both ways.
 */
// biome-ignore format: a row is one line of facts and one of prose
export const ERRORS = {
  session_not_found: row(404, "never", "Session/NoSnapshot",
    'No session with id "{sessionId}"'),
  session_closing: row(404, "never", "Session/Closing",
    'Session "{sessionId}" is being closed.'),
  session_id_conflict: row(409, "never", "Session/IdConflict",
    'A session with id "{sessionId}" exists already.'),
  session_limit_exceeded: row(503, "later", "Session/LimitExceeded",
    "{limit} sessions of this {scope} are live already; close one or wait."),
  server_stopping: row(503, "later", "Session/ServerStopping",
    "The server is shutting down; connect again in a moment."),
  session_busy: row(409, "later", "ExtensionHost/ConcurrentTurnForbidden",
    "A turn is running; wait for its verdict or cancel it."),
  session_not_ready: row(409, "later", "Session/NotReady",
    "The session is {state}; its agent cannot take this now."),
  illegal_transition: row(409, "never", "Session/IllegalTransition",
    "{trigger} is not allowed while {state}."),
  agent_out_of_turn: row(502, "never", "Session/AgentOutOfTurn",
    "The agent sent {trigger} while the session was {state}; it was ignored."),
  turn_not_open: row(409, "never", "Session/TurnNotOpen",
    "That turn is not running; it has its verdict already."),
  no_turn_running: row(409, "never", "Session/NoTurn",
    "Nothing is running that could be steered; send a prompt instead."),
  invalid_prompt: row(400, "never", "Validation/InputInvalid",
    "A prompt needs at least one content block."),
  invalid_deadline_ms: row(400, "never", "Validation/TimeoutMsInvalid",
    "A deadline must lie in the future."),
  invalid_idempotency_key: row(400, "never", "Validation/IdempotencyKeyInvalid",
    "An idempotency key has 1 to {limit} characters."),
  idempotency_conflict: row(409, "never", "Validation/IdempotencyKeyReused",
    "This idempotency key was used with another body; choose a new key."),
  prompt_queue_full: row(503, "later", "Session/QueueFull",
    "{pendingCount} of at most {limit} prompts have no verdict yet; wait for one."),
  prompt_not_found: row(404, "never", "Session/PromptNotFound",
    'No waiting or running prompt "{promptId}".'),
  prompt_not_next: row(409, "reread", "Session/PromptNotNext",
    'Prompt "{promptId}" is not the next in the queue.'),
  prompt_id_conflict: row(409, "never", "Session/PromptIdConflict",
    'Prompt "{promptId}" is waiting or running already.'),
  steer_limit_exceeded: row(429, "later", "Session/SteerLimit",
    "{limit} messages were steered into this turn already; wait for its verdict."),
  invalid_client_id: row(400, "never", "Validation/ClientIdInvalid",
    'Client id "{clientId}" is not registered for session {sessionId}'),
  client_id_required: row(403, "never", "Validation/ClientIdRequired",
    "This needs a client id; attach first and send the id that you were given."),
  actor_not_allowed: row(403, "never", "Session/ActorNotAllowed",
    "{trigger} is not for {actor} to say."),
  client_limit_exceeded: row(429, "later", "Session/ClientLimit",
    "{limit} clients are registered already; detach one."),
  subscriber_limit_exceeded: row(429, "later", "Session/SubscriberLimit",
    "{limit} event streams are open here already; close one."),
  ask_not_found: row(404, "never", "Session/AskNotFound",
    "No pending permission request for session"),
  ask_already_resolved: row(404, "never", "Session/InteractionAlreadyAnswered",
    "This permission request has been answered already."),
  ask_limit_exceeded: row(429, "later", "Session/AskLimit",
    "{limit} permission requests are open already; the agent was answered `cancelled`."),
  invalid_ask: row(400, "never", "Validation/InteractionPayloadMismatch",
    "A permission request needs a new id and at most {limit} options, each with an id of its own."),
  invalid_option_id: row(400, "never", "Validation/OptionInvalid",
    'Option "{optionId}" was not offered.'),
  permission_forbidden: row(403, "never", "Session/VoteForbidden",
    "This vote is not allowed here: {reason}."),
  cancel_sentinel_collision: row(500, "never", "Validation/SentinelCollision",
    'The agent offered the reserved option "{sentinel}".'),
  grant_not_found: row(404, "never", "Session/GrantNotFound",
    'No grant "{key}" in this session.'),
  trust_gate: row(403, "never", "Session/TrustGate",
    "Approval mode yolo needs a session created with security mode yolo."),
  shell_not_found: row(404, "never", "Session/ShellNotFound",
    'No running shell command "{shellId}".'),
  shell_limit_exceeded: row(429, "later", "Session/ShellLimit",
    "{limit} shell commands are running already; wait for one to end."),
  invalid_metadata: row(400, "never", "Validation/MetadataInvalid",
    "A display name has at most {limit} characters and no control characters."),
  workspace_mismatch: row(400, "never", "Validation/WorkspaceMismatch",
    'The directory "{requestedWorkspace}" is not inside "{boundWorkspace}".'),
  invalid_allowlist: row(400, "never", "Validation/AllowlistInvalid",
    "An allowlist has at most {limit} patterns, none empty or too long, and needs mode allowlist."),
  model_switch_failed: row(500, "later", "ProviderCapability/ModelSwitchFailed",
    'The agent did not take model "{requestedModelId}": {reason}'),
  session_locked: row(409, "later", "Session/Locked",
    "The session is open elsewhere: {holder}."),
  writer_lost: row(409, "reread", "Session/WriterLost",
    "Somebody else has opened the session since; open it again."),
  stale_revision: row(409, "reread", "Session/StaleRevision",
    "The session is at revision {revision}, not {expected}; read it again."),
  event_gap: row(409, "reread", "Session/EventGap",
    "The next event of this log has id {expected}, not {id}."),
  snapshot_too_large: row(413, "never", "Session/SnapshotTooLarge",
    "This commit has {bytes} bytes; the store takes at most {limit}."),
  resume_mismatch: row(409, "never", "Session/ResumeMismatch",
    'The session was written by store "{stored}", not "{active}"; activate that one.'),
  session_corrupt: row(500, "never", "Session/ManifestDrift",
    "What is stored of this session is damaged: {reason}. It was left as it is."),
  store_unavailable: row(503, "later", "Session/StoreUnavailable",
    "The session store cannot be used: {reason}."),
  invalid_manifest: row(400, "never", "Validation/ManifestShapeInvalid",
    "The manifest is not valid at {path}."),
  invalid_store_input: row(400, "never", "Validation/StoreInputInvalid",
    "The store cannot take {path}: {reason}."),
  invalid_store_config: row(400, "never", "Validation/ConfigSchemaViolation",
    "The store's configuration is not valid at {path}: {reason}."),
  store_cardinality: row(500, "never", "Validation/CardinalityMismatch",
    "Exactly one session store must be active; these are: {active}."),
  secret_leak: row(400, "never", "Session/SecretLeak",
    "A secret value was about to be stored at {paths}; it was not."),
  journal_conflict: row(409, "never", "Session/JournalConflict",
    'Entry "{key}" of the {journal} journal exists already with another text.'),
  document_conflict: row(409, "reread", "Session/DocumentConflict",
    "The document is at version {version}, not {expected}; read it again."),
  blob_not_found: row(404, "never", "Session/BlobNotFound",
    "There is no blob {hash}."),
  invalid_cursor: row(400, "never", "Validation/CursorInvalid",
    "This is not a cursor of this list; begin without one."),
  agent_unknown: row(400, "never", "Agent/Unknown",
    'There is no agent "{profile}"; known are: {known}.'),
  invalid_agent_profile: row(400, "never", "Validation/AgentProfileInvalid",
    'The agent profile "{profile}" is not valid at {path}: {reason}.'),
  agent_command_missing: row(502, "never", "Agent/CommandMissing",
    'The command "{command}" of agent "{profile}" was not found; install it or mend the profile.'),
  agent_command_forbidden: row(502, "never", "Agent/CommandForbidden",
    'The command "{command}" of agent "{profile}" cannot be run: {reason}.'),
  agent_exited_early: row(502, "later", "Agent/ExitedEarly",
    'Agent "{profile}" ended before it could be used ({exit}). It said: {said}'),
  agent_not_speaking: row(502, "never", "Agent/NotSpeaking",
    'Agent "{profile}" does not speak ACP; it may need a flag such as --acp. It said: {said}'),
  agent_start_timeout: row(504, "later", "Agent/StartTimeout",
    'Agent "{profile}" did not answer within {limitMs} ms. It said: {said}'),
  agent_protocol_version: row(502, "never", "Agent/ProtocolVersion",
    'Agent "{profile}" speaks ACP version {version}; Fermata speaks {supported}.'),
  agent_auth_required: row(502, "never", "Agent/AuthRequired",
    'Agent "{profile}" wants you to sign in first ({reason}). It offers: {methods}.'),
  agent_call_timeout: row(504, "later", "Agent/CallTimeout",
    "The agent did not answer {method} within {limitMs} ms."),
  agent_call_failed: row(502, "never", "Agent/CallFailed",
    "The agent refused {method}: {reason}"),
  agent_unsupported: row(501, "never", "Agent/Unsupported",
    "This agent does not offer {method}."),
  agent_gone: row(502, "later", "Agent/Gone",
    "The agent has ended ({exit})."),
  agent_connect_aborted: row(409, "later", "Agent/ConnectAborted",
    "Whoever wanted this agent did not wait for it."),
  agent_busy: row(503, "later", "Agent/Busy",
    "Too much is waiting for the agent; try again when it has caught up."),
  agent_capacity: row(503, "later", "Agent/Capacity",
    "No further agent can be started: {reason}."),
  agent_breaker_open: row(503, "later", "Agent/BreakerOpen",
    'Agent "{profile}" failed {failures} times in a row; next try in {retryMs} ms. {reason}'),
  path_outside_workspace: row(403, "never", "Agent/PathOutsideWorkspace",
    'The path "{path}" is not inside the workspace.'),
  file_unavailable: row(404, "never", "Agent/FileUnavailable",
    'The path "{path}" cannot be used: {reason}.'),
  file_too_large: row(413, "never", "Agent/FileTooLarge",
    'The file "{path}" has {bytes} bytes; at most {limit} are allowed.'),
  terminal_not_found: row(404, "never", "Agent/TerminalNotFound",
    'There is no terminal "{terminalId}".'),
  terminal_limit_exceeded: row(429, "later", "Agent/TerminalLimit",
    "{limit} terminals are open already; release one."),
  terminal_failed: row(502, "never", "Agent/TerminalFailed",
    'The command "{command}" cannot be run: {reason}.'),
  insufficient_credits: row(402, "later", "Session/InsufficientCredits",
    "This needs {neededMicro} micro-credits, {availableMicro} are left; top up and retry."),
  invalid_amount: row(400, "never", "Validation/AmountInvalid",
    "Amounts are whole micro-credits from 0 to {limit}."),
  ledger_conflict: row(409, "never", "Session/LedgerConflict",
    "Entry ({turnId}, {kind}, {n}) exists already with another amount."),
  reservation_not_open: row(409, "never", "Session/ReservationNotOpen",
    "Turn {turnId} has no open reservation for this amount."),
};

export type ErrorCode = keyof typeof ERRORS;

function row(status: number, retry: Retry, name: Row["name"], says: string): Row {
  return { status, retry, name, says };
}

type Details = Readonly<Record<string, string | number>>;

/** A refusal is a value: nothing in the core throws, and nothing changes when it is returned. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly details: Details;
}

export function refusal(code: ErrorCode, details: Details = {}): Refusal {
  return { code, details };
}

/** The one shape of an error on the wire: `{error, code, …}`, which no detail can displace. */
export function errorBody({ code, details }: Refusal): Readonly<Record<string, string | number>> {
  const error = ERRORS[code].says.replace(/\{(\w+)\}/g, (_, key) => `${details[key] ?? "?"}`);
  const first = { error, code };
  return { ...first, ...details, ...first };
}

/** Why a prompt ended in `turn_error`, when we ended it. Agents bring codes of their own. */
export const TURN_ERRORS = {
  channel_closed: "The agent exited during the turn.",
  session_closed: "The session was closed.",
  session_killed: "The session was ended by the server.",
  daemon_shutdown: "The server is shutting down.",
  prompt_deadline_exceeded: "The prompt's deadline passed.",
  cancel_ignored: "The agent did not stop when it was told to, and was ended.",
  budget_exhausted: "The credits for this turn are used up.",
  turn_too_large: "The turn grew past its size limit.",
  snapshot_too_large: "The turn is too large to be stored as part of the conversation.",
  agent_unavailable: "The agent could not be started.",
  unknown_command: "There is no such command.",
  SERVER_RESTART: "The session was interrupted by a server restart.",
  STORE_FAILURE: "The session was interrupted by a failure of its store.",
} as const;

export type TurnErrorCode = keyof typeof TURN_ERRORS;

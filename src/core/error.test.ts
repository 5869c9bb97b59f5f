import { describe, expect, it } from "vitest";
import { ERRORS, type ErrorCode, errorBody, refusal } from "./error.ts";
import { TURN_ERRORS } from "./turn-error.ts";

/**
 * The codes as they were published, so that none changes by accident: callers switch on them. It
 * is a list of record and no proof. Statuses of the wire's own codes were compared with its
 * reference (section 11), names of the specifications' with theirs; the others are our choice.
 */
const EXPECTED = `
  session_not_found          404 never  Session/NoSnapshot
  session_closing            404 never  Session/Closing
  session_id_conflict        409 never  Session/IdConflict
  session_limit_exceeded     503 later  Session/LimitExceeded
  server_stopping            503 later  Session/ServerStopping
  session_busy               409 later  ExtensionHost/ConcurrentTurnForbidden
  session_not_ready          409 later  Session/NotReady
  illegal_transition         409 never  Session/IllegalTransition
  agent_out_of_turn          502 never  Session/AgentOutOfTurn
  turn_not_open              409 never  Session/TurnNotOpen
  no_turn_running            409 never  Session/NoTurn
  invalid_prompt             400 never  Validation/InputInvalid
  invalid_deadline_ms        400 never  Validation/TimeoutMsInvalid
  invalid_idempotency_key    400 never  Validation/IdempotencyKeyInvalid
  idempotency_conflict       409 never  Validation/IdempotencyKeyReused
  prompt_queue_full          503 later  Session/QueueFull
  prompts_too_large          413 later  Session/PromptsTooLarge
  prompt_not_found           404 never  Session/PromptNotFound
  prompt_not_next            409 reread Session/PromptNotNext
  prompt_id_conflict         409 never  Session/PromptIdConflict
  steer_limit_exceeded       429 later  Session/SteerLimit
  invalid_task               400 never  Validation/TaskInvalid
  child_not_found            404 never  Session/ChildNotFound
  child_not_open             409 never  Session/ChildNotOpen
  child_depth_exceeded       403 never  Session/ChildDepth
  child_agent_unknown        404 never  Session/ChildAgentUnknown
  child_skill_unknown        404 never  Session/ChildSkillUnknown
  child_limit_exceeded       429 later  Session/ChildLimit
  invalid_client_id          400 never  Validation/ClientIdInvalid
  client_id_required         403 never  Validation/ClientIdRequired
  actor_not_allowed          403 never  Session/ActorNotAllowed
  client_limit_exceeded      429 later  Session/ClientLimit
  subscriber_limit_exceeded  429 later  Session/SubscriberLimit
  trace_limit_exceeded       429 later  Agent/TraceLimit
  ask_not_found              404 never  Session/AskNotFound
  ask_already_resolved       404 never  Session/InteractionAlreadyAnswered
  ask_limit_exceeded         429 later  Session/AskLimit
  invalid_ask                400 never  Validation/InteractionPayloadMismatch
  invalid_option_id          400 never  Validation/OptionInvalid
  permission_forbidden       403 never  Session/VoteForbidden
  sharing_forbidden          403 never  Session/SharingForbidden
  invalid_session_name       400 never  Validation/SessionNameInvalid
  session_name_taken         409 never  Session/NameTaken
  session_name_ambiguous     409 never  Session/NameAmbiguous
  cancel_sentinel_collision  500 never  Validation/SentinelCollision
  grant_not_found            404 never  Session/GrantNotFound
  trust_gate                 403 never  Session/TrustGate
  shell_not_found            404 never  Session/ShellNotFound
  shell_limit_exceeded       429 later  Session/ShellLimit
  invalid_metadata           400 never  Validation/MetadataInvalid
  workspace_mismatch         400 never  Validation/WorkspaceMismatch
  invalid_allowlist          400 never  Validation/AllowlistInvalid
  model_switch_failed        500 later  ProviderCapability/ModelSwitchFailed
  agent_setting_refused      500 later  ProviderCapability/SettingRefused
  session_locked             409 later  Session/Locked
  writer_lost                409 reread Session/WriterLost
  stale_revision             409 reread Session/StaleRevision
  event_gap                  409 reread Session/EventGap
  snapshot_too_large         413 never  Session/SnapshotTooLarge
  resume_mismatch            409 never  Session/ResumeMismatch
  session_corrupt            500 never  Session/ManifestDrift
  store_unavailable          503 later  Session/StoreUnavailable
  disk_quota_exceeded        507 later  Session/DiskQuotaExceeded
  disk_full                  507 later  Session/DiskFull
  search_unavailable         501 never  Session/SearchUnavailable
  invalid_search             400 never  Validation/SearchInvalid
  invalid_manifest           400 never  Validation/ManifestShapeInvalid
  invalid_store_input        400 never  Validation/StoreInputInvalid
  invalid_store_config       400 never  Validation/ConfigSchemaViolation
  store_cardinality          500 never  Validation/CardinalityMismatch
  backup_failed              500 later  Session/BackupFailed
  backup_unreadable          500 never  Session/BackupUnreadable
  restore_failed             409 never  Session/RestoreFailed
  secret_leak                400 never  Session/SecretLeak
  journal_conflict           409 never  Session/JournalConflict
  document_conflict          409 reread Session/DocumentConflict
  blob_not_found             404 never  Session/BlobNotFound
  invalid_cursor             400 never  Validation/CursorInvalid
  agent_unknown              400 never  Agent/Unknown
  invalid_agent_profile      400 never  Validation/AgentProfileInvalid
  agent_command_missing      502 never  Agent/CommandMissing
  agent_command_forbidden    502 never  Agent/CommandForbidden
  agent_user_access          403 never  Agent/UserAccess
  agent_exited_early         502 later  Agent/ExitedEarly
  agent_not_speaking         502 never  Agent/NotSpeaking
  agent_start_timeout        504 later  Agent/StartTimeout
  agent_protocol_version     502 never  Agent/ProtocolVersion
  agent_auth_required        502 never  Agent/AuthRequired
  agent_secret_missing       502 never  Agent/SecretMissing
  agent_secret_unusable      502 never  Agent/SecretUnusable
  agent_home_unusable        502 never  Agent/HomeUnusable
  agent_call_timeout         504 later  Agent/CallTimeout
  agent_call_failed          502 never  Agent/CallFailed
  agent_choice_unknown       400 never  Agent/ChoiceUnknown
  agent_unsupported          501 never  Agent/Unsupported
  agent_session_not_found    404 never  Agent/SessionNotFound
  agent_session_taken        409 never  Agent/SessionTaken
  agent_gone                 502 later  Agent/Gone
  agent_connect_aborted      409 later  Agent/ConnectAborted
  agent_busy                 503 later  Agent/Busy
  agent_capacity             503 later  Agent/Capacity
  agent_breaker_open         503 later  Agent/BreakerOpen
  elicitation_invalid        400 never  Agent/ElicitationInvalid
  path_outside_workspace     403 never  Agent/PathOutsideWorkspace
  file_unavailable           404 never  Agent/FileUnavailable
  file_too_large             413 never  Agent/FileTooLarge
  access_refused             403 never  Agent/AccessRefused
  terminal_not_found         404 never  Agent/TerminalNotFound
  terminal_limit_exceeded    429 later  Agent/TerminalLimit
  terminal_failed            502 never  Agent/TerminalFailed
  tool_unknown               404 never  Tool/Unknown
  tool_unavailable           503 later  Tool/Unavailable
  tool_input_invalid         400 never  Validation/ToolInputInvalid
  insufficient_credits       402 later  Session/InsufficientCredits
  price_unknown              402 later  Session/PriceUnknown
  invalid_amount             400 never  Validation/AmountInvalid
  grants_too_large           400 never  Validation/GrantsTooLarge
  credit_grant_not_found     404 never  Session/CreditGrantNotFound
  credit_grant_revoked       409 never  Session/CreditGrantRevoked
  ledger_conflict            409 never  Session/LedgerConflict
  reservation_not_open       409 never  Session/ReservationNotOpen
  invalid_session_id         400 never  Validation/SessionIdInvalid
  invalid_session_scope      400 never  Validation/SessionScopeInvalid
  invalid_session_source     400 never  Validation/SessionSourceInvalid
  invalid_approval_mode      400 never  Validation/ApprovalModeInvalid
  invalid_persist_flag       400 never  Validation/PersistFlagInvalid
  invalid_session_attachment_reference 400 never  Validation/AttachmentReferenceInvalid
  invalid_archive_state      400 never  Validation/ArchiveStateInvalid
  invalid_session_view       400 never  Validation/SessionViewInvalid
  invalid_session_group_filter 400 never  Validation/SessionGroupFilterInvalid
  group_not_found            404 never  Session/GroupNotFound
  invalid_parent_session_id  400 never  Validation/ParentSessionIdInvalid
  invalid_parent_session_filter 400 never  Validation/ParentSessionFilterInvalid
  invalid_transcript_limit   400 never  Validation/TranscriptLimitInvalid
  invalid_live_replay_mode   400 never  Validation/LiveReplayModeInvalid
  session_restore_timeout    504 later  Session/RestoreTimeout
  session_setting_conflict   409 never  Session/SettingConflict
  invitation_not_found       404 never  Identity/InvitationNotFound
  invitation_limit_exceeded  429 never  Identity/InvitationLimit
  member_exists              409 never  Identity/MemberExists
  second_tenant              409 never  Identity/SecondTenant
  invalid_workspace          400 never  Validation/WorkspaceInvalid
  untrusted_workspace        403 never  Session/UntrustedWorkspace
  workspace_limit_exceeded   429 never  Session/WorkspaceLimit
  skills_unavailable         500 never  Session/SkillsUnavailable
  role_required              403 never  Server/RoleRequired
  last_owner                 409 never  Identity/LastOwner
  member_not_found           404 never  Identity/MemberNotFound
  member_limit_exceeded      429 never  Identity/MemberLimit
  token_not_found            404 never  Identity/TokenNotFound
  token_limit_exceeded       429 never  Identity/TokenLimit
  token_role_exceeded        409 never  Identity/TokenRole
  tenant_deleting            503 later  Identity/TenantDeleting
  tenant_busy                503 later  Identity/TenantBusy
  tenant_locked              409 later  Identity/TenantLocked
  too_many_attempts          429 later  Server/Attempts
  key_set_unavailable        503 later  Server/KeySetUnavailable
  policy_forbids             403 never  Identity/PolicyForbids
  policy_conflict            409 reread Identity/PolicyConflict
  session_shell_disabled     403 never  Session/ShellDisabled
  invalid_transcript_cursor  400 never  Validation/TranscriptCursorInvalid
  transcript_snapshot_unavailable 409 reread Session/TranscriptChanged
  transcript_page_too_large  413 never  Session/TranscriptPageTooLarge
  invalid_export_format      400 never  Validation/ExportFormatInvalid
  export_busy                503 later  Server/ExportBusy
  export_given_up            503 later  Server/ExportGivenUp
  branch_while_prompt_active 409 later  Session/BranchWhilePromptActive
  branch_point_invalid       409 never  Session/BranchPointInvalid
  unauthorized               401 never  Server/Unauthorized
  token_required             401 never  Server/TokenRequired
  cors_denied                403 never  Server/CorsDenied
  invalid_host               403 never  Server/HostInvalid
  rate_limit_exceeded        429 later  Server/RateLimit
  invalid_request            400 never  Validation/RequestInvalid
  invalid_json               400 never  Validation/JsonInvalid
  body_too_large             413 never  Validation/BodyTooLarge
  unsupported_media          415 never  Validation/MediaUnsupported
  invalid_max_queued         400 never  Validation/MaxQueuedInvalid
  route_not_found            404 never  Server/RouteNotFound
  method_not_allowed         405 never  Server/MethodNotAllowed
  files_exhausted            503 later  Server/FilesExhausted
  body_too_slow              408 later  Validation/BodyTooSlow
  share_exceeded             429 later  Server/ShareExceeded
  server_busy                503 later  Server/Busy
  server_starting            503 later  Server/Starting
  file_limit_exceeded        429 later  Server/FileLimit
  internal_error             500 never  Server/InternalError
  invalid_server_config      400 never  Validation/ServerConfigInvalid
  listen_failed              503 later  Server/ListenFailed
  invalid_extension          400 never  Validation/ShapeInvalid
  invalid_extension_config   400 never  Validation/ConfigSchemaViolation
  extension_missing          409 never  ExtensionHost/ExtensionMissing
  extension_untrusted        403 never  Session/UntrustedExtension
  extension_trust_unreadable 500 never  Session/TrustUnreadable
  extension_cardinality      409 never  Validation/CardinalityMismatch
  extension_dependency_cycle 409 never  ExtensionHost/DependencyCycle
  extension_dependency_missing 409 never  ExtensionHost/DependencyMissing
  extension_phase_invalid    409 never  ExtensionHost/LifecyclePhaseInvalid
  extension_failed           502 never  ExtensionHost/LifecycleFailure
  extension_limit            503 later  ExtensionHost/LimitExceeded
  prompt_denied              403 never  ExtensionHost/PromptDenied
  slot_access_denied         403 never  ExtensionHost/SlotAccessDenied
  slot_invalid               400 never  Validation/SlotInvalid
  slot_too_large             413 never  Session/SlotTooLarge
  slot_version_missing       409 never  Validation/SlotVersionMissing
  slot_drift_rejected        409 never  Session/SlotDriftRejected
  slot_migration_failed      502 never  Session/SlotMigrationFailed
  invalid_workflow           400 never  Validation/StageDefinitionInvalid
  workflow_missing           404 never  ExtensionHost/WorkflowMissing
  workflow_untrusted         403 never  Session/UntrustedWorkflow
  workflow_failed            502 never  ExtensionHost/WorkflowFailure
  workflow_attached 409 never Validation/SMAlreadyAttached
  workflow_none 404 never ExtensionHost/WorkflowNone
  workflow_state 409 never ExtensionHost/WorkflowState
  stage_not_next 409 never ExtensionHost/StageNotNext
  workflow_input_missing 400 never Validation/WorkflowInputMissing
  workflows_absent 404 never ExtensionHost/WorkflowsAbsent
  workflow_slot_lost 409 never Session/SlotLost
  workflow_attach_failed 502 never ExtensionHost/WorkflowAttachFailed
  workflow_too_large 413 never Validation/WorkflowTooLarge
  stage_result_invalid 400 never Validation/StageResultInvalid
  stage_command_failed 502 never ExtensionHost/StageCommandFailed
  stage_unresolved 409 never Validation/StageCtxUnresolved
  stage_phase_failed 502 never ExtensionHost/StagePhaseFailed
`;

const rows = EXPECTED.trim()
  .split("\n")
  .map((line) => line.trim().split(/ +/));

describe("the table of errors", () => {
  it("has exactly these codes, each with its status, advice and name", () => {
    const actual = Object.entries(ERRORS).map(([code, { status, retry, name }]) => {
      return [code, `${status}`, retry, name];
    });
    expect(actual).toEqual(rows);
  });

  it("gives every code a name of its own, but for two of stores and extensions alike", () => {
    const names = Object.values(ERRORS).map(({ name }) => name);
    const shared = names.filter((name, at) => names.indexOf(name) !== at);
    expect(shared).toEqual(["Validation/ConfigSchemaViolation", "Validation/CardinalityMismatch"]);
  });

  it.each(Object.entries(ERRORS))("says of %s something that a person can read", (_code, row) => {
    expect(row.says).toMatch(/^[A-Z{']/);
    expect(row.says.length).toBeLessThanOrEqual(100);
    expect(row.says.replaceAll(/\{\w+\}/g, "")).not.toMatch(/[{}]/);
  });

  it("advises another try only for what time can mend, and never for a caller's mistake", () => {
    const later = Object.values(ERRORS).filter(({ retry }) => retry === "later");
    expect(later.filter(({ status }) => status === 400 || status === 404)).toEqual([]);
  });
});

describe("a refusal", () => {
  it("is a value with a code and its details", () => {
    expect(refusal("session_busy")).toEqual({ code: "session_busy", details: {} });
    expect(refusal("prompt_not_found", { promptId: "p" })).toEqual({
      code: "prompt_not_found",
      details: { promptId: "p" },
    });
  });
});

describe("the body of an error", () => {
  it.each<[ErrorCode, Record<string, string | number>, string]>([
    ["session_not_found", { sessionId: "s" }, 'No session with id "s"'],
    [
      "invalid_client_id",
      { clientId: "c", sessionId: "s" },
      'Client id "c" is not registered for session s',
    ],
    ["ask_not_found", { sessionId: "s" }, "No pending permission request for session"],
    [
      "prompt_queue_full",
      { sessionId: "s", limit: 5, pendingCount: 5 },
      "5 of at most 5 prompts have no verdict yet; wait for one.",
    ],
    [
      "insufficient_credits",
      { neededMicro: 10, availableMicro: 3, limitedBy: "the budget of the user in total" },
      "This needs 10 micro-credits; the budget of the user in total has 3 left; ask an owner.",
    ],
    [
      "ledger_conflict",
      { turnId: "t", kind: "charge", n: 0 },
      "Entry (t, charge, 0) exists with another amount or note; take another id.",
    ],
  ])("of %s is its sentence, its code, and the details %j", (code, details, error) => {
    expect(errorBody(refusal(code, details))).toEqual({ error, code, ...details });
  });

  it("begins with the sentence and the code", () => {
    const body = errorBody(refusal("prompt_not_found", { promptId: "p" }));
    expect(Object.keys(body)).toEqual(["error", "code", "promptId"]);
  });

  it("keeps its sentence and its code whatever the details are called", () => {
    const body = errorBody(refusal("session_busy", { error: "no", code: "no", hint: "yes" }));
    expect(body).toEqual({ error: ERRORS.session_busy.says, code: "session_busy", hint: "yes" });
    expect(Object.keys(body)).toEqual(["error", "code", "hint"]);
  });

  it("shows a gap in the sentence as a question mark, never as undefined", () => {
    expect(errorBody(refusal("prompt_not_found"))).toEqual({
      error: 'No prompt "?" is known here any more, waiting, running or ended.',
      code: "prompt_not_found",
    });
  });

  it("puts details in as they are, even those that look like gaps or replacements", () => {
    const details = { clientId: "{sessionId}", sessionId: "$& $1 $$" };
    expect(errorBody(refusal("invalid_client_id", details)).error).toBe(
      'Client id "{sessionId}" is not registered for session $& $1 $$',
    );
  });
});

describe("the reasons for which we end a turn", () => {
  it("are the wire's and ours, each with a sentence for people", () => {
    expect(TURN_ERRORS).toEqual({
      channel_closed: "The agent exited during the turn.",
      prompt_denied: "An extension of the session did not let the prompt begin.",
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
      policy_forbids: "The tenant's policy forbids this prompt in this session.",
      SERVER_RESTART: "The session was interrupted by a server restart.",
      STORE_FAILURE: "The session was interrupted by a failure of its store.",
    });
  });
});

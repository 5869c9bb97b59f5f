import type { EventType, SessionEvent } from "./event.ts";

/**
 * How an event folds when its turn is over. A finished turn is replayed by what came of it, so
 * that a replay grows with the turns of a session and not with its tokens.
 *
 * - `keep`: stands as it is.
 * - `latest`: one per turn and kind, at the position of the first, with the content of the last.
 * - `drop`: meant something only to the clients that were connected.
 * - `boundary`: kept, and closes the turn.
 */
export type Fold = "keep" | "latest" | "drop" | "boundary";

/** All that is decided per event type. */
interface EventRow {
  readonly fold: Fold;
  /** Changes the session: it has a function in `evolve`. */
  readonly evolves: boolean;
  /**
   * Copied into a fork: what was said and done in turns. Not what the source session was set to,
   * its clients, its costs (P9) or its lifecycle: the fork has its own. A copied admission would
   * be a prompt without a verdict.
   */
  readonly copied: boolean;
  /** Changes how a list shows the session, so the tenant's stream sends the session again. */
  readonly listed: boolean;
  /** Ends the streams that are open. */
  readonly terminal: boolean;
  /**
   * Has an audit entry. The others decide nothing, or another entry of the same decision says it,
   * or they are in the credit journal.
   */
  readonly audited: boolean;
  /** Has a passage in the exports for people; the JSON formats have every event. */
  readonly narrated: boolean;
  /**
   * Counts towards the bounds of the replay of an open turn, as it does in the original server.
   * The others are our bookkeeping: of those, an open turn is replayed without what its end would
   * drop, and with the latest where only that would stay.
   */
  readonly counted: boolean;
  /**
   * A client has an answer about the session: its maker, because its agent was up, or another that
   * asked for something. Without one a log is what is left of a create that was cut off.
   */
  readonly answered: boolean;
}

const yes = true;
const no = false;

/** A new event type does not compile until its row is here. */
// biome-ignore format: a table is read by its columns
export const EVENT_TABLE = {
  //                                fold        evolves   listed    audited   counted
  //                                                 copied    ends      narrated  answered
  session_created:              row("keep",     yes, no,  yes, no,  yes, yes, no,  no),
  session_status:               row("latest",   yes, no,  yes, no,  yes, no,  no,  no),
  session_lifecycle:            row("drop",     yes, no,  yes, no,  yes, no,  no,  no),
  agent_connected:              row("latest",   yes, no,  no,  no,  yes, yes, no,  yes),
  agent_offer:                  row("drop",     yes, no,  no,  no,  no,  no,  no,  yes),
  instructions_sent:            row("latest",   yes, no,  no,  no,  yes, no,  no,  no),
  session_drift:                row("keep",     no,  no,  no,  no,  yes, yes, yes, yes),
  session_died:                 row("drop",     no,  no,  no,  yes, yes, no,  yes, yes),
  session_closed:               row("drop",     yes, no,  yes, yes, yes, no,  yes, yes),

  prompt_admitted:              row("drop",     yes, no,  yes, no,  yes, no,  no,  yes),
  pending_prompt_added:         row("keep",     yes, no,  no,  no,  no,  no,  yes, yes),
  pending_prompt_started:       row("keep",     no,  no,  no,  no,  no,  no,  yes, yes),
  pending_prompt_completed:     row("keep",     no,  no,  no,  no,  no,  no,  yes, yes),
  session_update:               row("keep",     yes, yes, no,  no,  no,  yes, yes, no),
  mid_turn_message_injected:    row("keep",     yes, yes, no,  no,  yes, yes, yes, yes),
  prompt_cancelled:             row("keep",     yes, yes, no,  no,  yes, no,  yes, yes),
  turn_complete:                row("boundary", yes, yes, yes, no,  yes, yes, yes, yes),
  turn_error:                   row("boundary", yes, yes, yes, no,  yes, yes, yes, yes),

  child_session_started:        row("keep",     yes, yes, no,  no,  yes, yes, yes, yes),
  child_usage_reported:         row("drop",     yes, no,  no,  no,  no,  no,  no,  yes),
  child_session_ended:          row("keep",     yes, yes, no,  no,  yes, yes, yes, yes),

  workflow_attached:            row("keep",     yes, no,  no,  no,  yes, yes, yes, yes),
  stage_started:                row("keep",     yes, yes, no,  no,  yes, yes, yes, yes),
  stage_prompted:               row("drop",     yes, no,  no,  no,  no,  no,  no,  yes),
  stage_ended:                  row("keep",     yes, yes, no,  no,  yes, yes, yes, yes),
  workflow_paused:              row("keep",     yes, no,  no,  no,  yes, yes, yes, yes),
  workflow_resumed:             row("keep",     yes, no,  no,  no,  yes, yes, yes, yes),
  workflow_ended:               row("keep",     yes, no,  no,  no,  yes, yes, yes, yes),
  workflow_aborted:             row("keep",     yes, no,  no,  no,  yes, yes, yes, yes),

  permission_request:           row("keep",     yes, yes, no,  no,  yes, no,  yes, yes),
  permission_decided:           row("keep",     yes, yes, no,  no,  yes, no,  yes, yes),
  permission_resolved:          row("keep",     yes, yes, no,  no,  yes, yes, yes, yes),
  permission_already_resolved:  row("drop",     no,  no,  no,  no,  yes, no,  yes, yes),
  permission_partial_vote:      row("drop",     yes, no,  no,  no,  yes, no,  yes, yes),
  permission_voter_left:        row("drop",     yes, no,  no,  no,  yes, no,  yes, yes),
  permission_forbidden:         row("drop",     no,  no,  no,  no,  yes, no,  yes, yes),
  agent_access:                 row("keep",     yes, yes, no,  no,  yes, yes, yes, no),
  session_grant_added:          row("keep",     yes, no,  no,  no,  yes, no,  yes, yes),
  session_grant_revoked:        row("keep",     yes, no,  no,  no,  yes, yes, yes, yes),

  credits_reserved:             row("drop",     yes, no,  no,  no,  no,  no,  no,  yes),
  credits_settled:              row("keep",     yes, no,  no,  no,  no,  no,  no,  yes),
  usage_reported:               row("latest",   yes, no,  no,  no,  no,  no,  no,  yes),

  session_metadata_updated:     row("latest",   yes, no,  yes, no,  yes, no,  yes, yes),
  session_named:                row("latest",   yes, no,  yes, no,  yes, no,  no,  yes),
  model_switched:               row("latest",   yes, no,  no,  no,  yes, yes, yes, yes),
  model_switch_failed:          row("keep",     no,  no,  no,  no,  yes, yes, yes, no),
  model_config_changed:         row("latest",   yes, no,  no,  no,  yes, yes, no,  yes),
  approval_mode_changed:        row("latest",   yes, no,  no,  no,  yes, yes, yes, yes),
  autonomy_profile_changed:     row("latest",   yes, no,  no,  no,  yes, yes, no,  yes),
  agent_mode_changed:           row("latest",   yes, no,  no,  no,  yes, yes, no,  yes),
  agent_option_changed:         row("latest",   yes, no,  no,  no,  yes, yes, no,  yes),
  sandbox_changed:              row("latest",   yes, no,  no,  no,  yes, no,  no,  yes),
  skills_reloaded:              row("keep",     yes, no,  no,  no,  yes, yes, yes, yes),
  persona_reloaded:             row("keep",     yes, no,  no,  no,  yes, yes, yes, yes),
  active_agent_changed:         row("keep",     yes, no,  no,  no,  yes, yes, yes, yes),
  session_cwd_changed:          row("latest",   yes, no,  no,  no,  yes, yes, yes, yes),
  session_budget_changed:       row("latest",   yes, no,  no,  no,  yes, no,  no,  yes),
  session_visibility_changed:   row("latest",   yes, no,  yes, no,  yes, no,  no,  yes),
  session_month_budget_changed: row("latest",   yes, no,  no,  no,  yes, no,  no,  yes),

  client_attached:              row("drop",     yes, no,  no,  no,  no,  no,  no,  yes),
  client_detached:              row("drop",     yes, no,  no,  no,  no,  no,  no,  no),
  client_expired:               row("drop",     yes, no,  no,  no,  no,  no,  no,  no),
  user_shell_command:           row("keep",     yes, yes, no,  no,  yes, no,  yes, yes),
  user_shell_result:            row("keep",     yes, yes, no,  no,  yes, yes, yes, yes),

  command_result:               row("keep",     no,  yes, no,  no,  yes, no,  yes, yes),
  skill_invoked:                row("keep",     no,  yes, no,  no,  yes, yes, yes, yes),
  session_branched:             row("keep",     no,  no,  no,  no,  yes, yes, yes, yes),
  secret_redacted:              row("latest",   no,  no,  no,  no,  yes, yes, no,  no),
  credits_warning:              row("keep",     no,  no,  no,  no,  yes, no,  yes, yes),
  credits_waiting:              row("drop",     no,  no,  no,  no,  yes, no,  no,  yes),
  agent_setting_refused:        row("keep",     no,  no,  no,  no,  yes, yes, yes, no),
  usage_suspect:                row("keep",     no,  no,  no,  no,  yes, yes, no,  no),
  extension_disabled:           row("keep",     no,  no,  no,  no,  yes, yes, no,  no),
  extensions_reloaded:          row("keep",     no,  no,  no,  no,  no,  yes, no,  yes),
} as const satisfies Readonly<Record<EventType, EventRow>>;

/** A column of the table that is yes or no. */
type EventFlag = Exclude<keyof EventRow, "fold">;

/** The event types whose row says yes in this column. */
export type EventTypeThat<Is extends EventFlag> = {
  [Type in EventType]: (typeof EVENT_TABLE)[Type][Is] extends true ? Type : never;
}[EventType];

/** The event types, in the order of the table. */
export const EVENT_TYPES: readonly EventType[] = Object.keys(EVENT_TABLE).filter(isEventType);

export function isEventType(text: string): text is EventType {
  return Object.hasOwn(EVENT_TABLE, text);
}

/** The same table, as it is asked several times for every event. */
const ROWS: ReadonlyMap<string, EventRow> = new Map(Object.entries(EVENT_TABLE));

/** Whether the table says yes; an event type of a newer version has no row, so it says no. */
export function eventIs<Is extends EventFlag>(
  event: SessionEvent,
  is: Is,
): event is SessionEvent<EventTypeThat<Is>> {
  return ROWS.get(event.type)?.[is] === true;
}

/** Keeps an event type of a newer version. */
export function foldOf(type: string): Fold {
  return ROWS.get(type)?.fold ?? "keep";
}

/** Generic, so that the compiler knows what each cell says. */
function row<
  Folds extends Fold,
  Evolves extends boolean,
  Copied extends boolean,
  Listed extends boolean,
  Terminal extends boolean,
  Audited extends boolean,
  Narrated extends boolean,
  Counted extends boolean,
  Answered extends boolean,
>(
  fold: Folds,
  evolves: Evolves,
  copied: Copied,
  listed: Listed,
  terminal: Terminal,
  audited: Audited,
  narrated: Narrated,
  counted: Counted,
  answered: Answered,
) {
  return { fold, evolves, copied, listed, terminal, audited, narrated, counted, answered };
}

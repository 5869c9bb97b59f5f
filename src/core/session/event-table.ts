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
}

const yes = true;
const no = false;

/** A new event type does not compile until its row is here. */
// biome-ignore format: a table is read by its columns
export const EVENT_TABLE = {
  //                                fold        evolves copied listed ends  audited narrated counted
  session_created:              row("keep",     yes,    no,    yes,   no,   yes,    yes,     no),
  session_status:               row("latest",   yes,    no,    yes,   no,   yes,    no,      no),
  session_lifecycle:            row("drop",     yes,    no,    yes,   no,   yes,    no,      no),
  agent_connected:              row("latest",   yes,    no,    no,    no,   yes,    yes,     no),
  agent_offer:                  row("drop",     yes,    no,    no,    no,   no,     no,      no),
  instructions_sent:            row("latest",   yes,    no,    no,    no,   yes,    no,      no),
  session_drift:                row("keep",     no,     no,    no,    no,   yes,    yes,     yes),
  session_died:                 row("drop",     no,     no,    no,    yes,  yes,    no,      yes),
  session_closed:               row("drop",     yes,    no,    yes,   yes,  yes,    no,      yes),

  prompt_admitted:              row("drop",     yes,    no,    yes,   no,   yes,    no,      no),
  pending_prompt_added:         row("keep",     yes,    no,    no,    no,   no,     no,      yes),
  pending_prompt_started:       row("keep",     no,     no,    no,    no,   no,     no,      yes),
  pending_prompt_completed:     row("keep",     no,     no,    no,    no,   no,     no,      yes),
  session_update:               row("keep",     yes,    yes,   no,    no,   no,     yes,     yes),
  mid_turn_message_injected:    row("keep",     yes,    yes,   no,    no,   yes,    yes,     yes),
  prompt_cancelled:             row("keep",     yes,    yes,   no,    no,   yes,    no,      yes),
  turn_complete:                row("boundary", yes,    yes,   yes,   no,   yes,    yes,     yes),
  turn_error:                   row("boundary", yes,    yes,   yes,   no,   yes,    yes,     yes),

  permission_request:           row("keep",     yes,    yes,   no,    no,   yes,    no,      yes),
  permission_decided:           row("keep",     yes,    yes,   no,    no,   yes,    no,      yes),
  permission_resolved:          row("keep",     yes,    yes,   no,    no,   yes,    yes,     yes),
  permission_already_resolved:  row("drop",     no,     no,    no,    no,   yes,    no,      yes),
  permission_partial_vote:      row("drop",     yes,    no,    no,    no,   yes,    no,      yes),
  permission_voter_left:        row("drop",     yes,    no,    no,    no,   yes,    no,      yes),
  permission_forbidden:         row("drop",     no,     no,    no,    no,   yes,    no,      yes),
  agent_access:                 row("keep",     yes,    yes,   no,    no,   yes,    yes,     yes),
  session_grant_added:          row("keep",     yes,    no,    no,    no,   yes,    no,      yes),
  session_grant_revoked:        row("keep",     yes,    no,    no,    no,   yes,    yes,     yes),

  credits_reserved:             row("drop",     yes,    no,    no,    no,   no,     no,      no),
  credits_settled:              row("keep",     yes,    no,    no,    no,   no,     no,      no),
  usage_reported:               row("latest",   yes,    no,    no,    no,   no,     no,      no),

  session_metadata_updated:     row("latest",   yes,    no,    yes,   no,   yes,    no,      yes),
  model_switched:               row("latest",   yes,    no,    no,    no,   yes,    yes,     yes),
  model_switch_failed:          row("keep",     no,     no,    no,    no,   yes,    yes,     yes),
  model_config_changed:         row("latest",   yes,    no,    no,    no,   yes,    yes,     no),
  approval_mode_changed:        row("latest",   yes,    no,    no,    no,   yes,    yes,     yes),
  autonomy_profile_changed:     row("latest",   yes,    no,    no,    no,   yes,    yes,     no),
  agent_mode_changed:           row("latest",   yes,    no,    no,    no,   yes,    yes,     no),
  agent_option_changed:         row("latest",   yes,    no,    no,    no,   yes,    yes,     no),
  sandbox_changed:              row("latest",   yes,    no,    no,    no,   yes,    no,      no),
  skills_reloaded:              row("keep",     yes,    no,    no,    no,   yes,    yes,     yes),
  persona_reloaded:             row("keep",     yes,    no,    no,    no,   yes,    yes,     yes),
  active_agent_changed:         row("keep",     yes,    no,    no,    no,   yes,    yes,     yes),
  session_cwd_changed:          row("latest",   yes,    no,    no,    no,   yes,    yes,     yes),
  session_budget_changed:       row("latest",   yes,    no,    no,    no,   yes,    no,      no),
  session_visibility_changed:   row("latest",   yes,    no,    yes,   no,   yes,    no,      no),
  session_month_budget_changed: row("latest",   yes,    no,    no,    no,   yes,    no,      no),

  client_attached:              row("drop",     yes,    no,    no,    no,   no,     no,      no),
  client_detached:              row("drop",     yes,    no,    no,    no,   no,     no,      no),
  client_expired:               row("drop",     yes,    no,    no,    no,   no,     no,      no),
  user_shell_command:           row("keep",     yes,    yes,   no,    no,   yes,    no,      yes),
  user_shell_result:            row("keep",     yes,    yes,   no,    no,   yes,    yes,     yes),

  command_result:               row("keep",     no,     yes,   no,    no,   yes,    no,      yes),
  skill_invoked:                row("keep",     no,     yes,   no,    no,   yes,    yes,     yes),
  session_branched:             row("keep",     no,     no,    no,    no,   yes,    yes,     yes),
  secret_redacted:              row("latest",   no,     no,    no,    no,   yes,    yes,     no),
  credits_warning:              row("keep",     no,     no,    no,    no,   yes,    no,      yes),
  credits_waiting:              row("drop",     no,     no,    no,    no,   yes,    no,      no),
  agent_setting_refused:        row("keep",     no,     no,    no,    no,   yes,    yes,     yes),
  usage_suspect:                row("keep",     no,     no,    no,    no,   yes,    yes,     no),
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
>(
  fold: Folds,
  evolves: Evolves,
  copied: Copied,
  listed: Listed,
  terminal: Terminal,
  audited: Audited,
  narrated: Narrated,
  counted: Counted,
) {
  return { fold, evolves, copied, listed, terminal, audited, narrated, counted };
}

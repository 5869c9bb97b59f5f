import type { ErrorCode } from "../error.ts";
import type { SessionState } from "../status.ts";
import type { CommandType } from "./command.ts";
import type { Session } from "./state.ts";

/**
 * The condition of a session for a command: its status, or one of three beside it.
 *
 * - `absent`: there is no such session.
 * - `closed`: a client closed it and none has loaded it since, so it answers like `absent`.
 * - `closing`: it is `deactivating` because a client closed it.
 */
export type Condition = SessionState | "absent" | "closed" | "closing";

/**
 * `yes`: the command's own file decides. `skip`: a harmless repeat or late arrival, accepted and
 * without effect. Anything else is the code of its refusal.
 */
export type Cell = "yes" | "skip" | ErrorCode;

/**
 * Who may give a command. The server may give any of them, because it speaks for operators.
 *
 * - `client`: any caller. `registered`: a caller without a name, or with one that this session
 *   knows. `named`: only with such a name.
 * - `agent`: the session's present agent.
 */
export type CommandCaller = "client" | "registered" | "named" | "agent" | "server";

const cli = "client";
const reg = "registered";
const nam = "named";
const agt = "agent";
const srv = "server";

interface AdmissionRow {
  readonly caller: CommandCaller;
  readonly cells: Readonly<Record<Condition, Cell>>;
}

const yes = "yes";
const skip = "skip";
const gone = "session_not_found";
const bye = "session_closing";
const dup = "session_id_conflict";
const busy = "session_busy";
const wait = "session_not_ready";
const rude = "agent_out_of_turn";
const late = "turn_not_open";

/**
 * What may be asked of a session, in every condition it can be in. A new status or command does
 * not compile until each of its cells has been decided here.
 */
// biome-ignore format: a table is read by its columns
export const ADMISSION: Readonly<Record<CommandType, AdmissionRow>> = {
  //                          absnt clsd  inact activ ready runng waitg deact clsng error
  create:            row(cli, yes,  dup,  dup,  dup,  dup,  dup,  dup,  dup,  dup,  dup),
  resume:            row(cli, gone, yes,  yes,  skip, skip, skip, skip, skip, bye,  yes),
  activate:          row(srv, gone, gone, yes,  skip, skip, skip, skip, wait, bye,  yes),
  stop:              row(srv, skip, skip, yes,  yes,  yes,  yes,  yes,  yes,  skip, yes),
  close:             row(reg, gone, gone, yes,  yes,  yes,  yes,  yes,  yes,  bye,  yes),
  recovery:          row(srv, skip, yes,  yes,  yes,  yes,  yes,  yes,  yes,  yes,  yes),
  store_failure:     row(srv, skip, yes,  yes,  yes,  yes,  yes,  yes,  yes,  yes,  yes),

  agent_status:      row(agt, rude, skip, yes,  yes,  yes,  yes,  yes,  yes,  yes,  yes),
  agent_exit:        row(agt, rude, skip, skip, yes,  yes,  yes,  yes,  yes,  yes,  skip),
  agent_unavailable: row(srv, skip, skip, yes,  skip, skip, skip, skip, skip, skip, yes),
  instructed:        row(agt, rude, skip, skip, yes,  yes,  yes,  yes,  skip, skip, skip),
  agent_offer:       row(agt, rude, skip, skip, skip, yes,  yes,  yes,  skip, skip, skip),
  agent_update:      row(agt, rude, rude, rude, yes,  yes,  yes,  yes,  rude, rude, rude),
  usage:             row(agt, rude, late, late, late, late, yes,  yes,  late, late, late),

  prompt:            row(reg, gone, gone, yes,  yes,  yes,  yes,  yes,  yes,  bye,  yes),
  begin_turn:        row(srv, gone, gone, wait, wait, yes,  busy, busy, wait, bye,  wait),
  command_result:    row(srv, gone, gone, yes,  yes,  yes,  busy, busy, yes,  bye,  yes),
  remove_prompt:     row(reg, gone, gone, yes,  yes,  yes,  yes,  yes,  yes,  bye,  yes),
  refuse_prompt:     row(srv, gone, gone, yes,  yes,  yes,  busy, busy, yes,  bye,  yes),
  steer:             row(reg, gone, gone, yes,  yes,  yes,  yes,  yes,  yes,  bye,  yes),
  take_messages:     row(agt, rude, late, late, late, late, yes,  yes,  late, late, late),
  cancel:            row(reg, gone, gone, yes,  yes,  yes,  yes,  yes,  yes,  bye,  yes),
  reserve_slice:     row(srv, late, late, late, late, late, yes,  yes,  late, late, late),
  deadline_passed:   row(srv, skip, skip, yes,  yes,  yes,  yes,  yes,  yes,  skip, yes),
  limit_passed:      row(srv, late, late, late, late, late, yes,  yes,  late, late, late),
  commit_refused:    row(srv, late, late, late, late, late, yes,  yes,  late, late, late),

  start_child:       row(agt, late, late, late, late, late, yes,  yes,  late, late, late),
  child_update:      row(agt, rude, skip, skip, skip, skip, yes,  yes,  skip, skip, skip),
  child_usage:       row(agt, late, late, late, late, late, yes,  yes,  late, late, late),
  child_ended:       row(agt, late, late, late, late, late, yes,  yes,  late, late, late),

  attach_workflow:   row(reg, gone, gone, yes,  yes,  yes,  yes,  yes,  yes,  bye,  yes),
  begin_stage:       row(srv, gone, gone, yes,  yes,  yes,  busy, busy, yes,  bye,  yes),
  prompt_stage:      row(srv, late, late, late, late, late, yes,  yes,  late, late, late),
  steer_workflow:    row(reg, gone, gone, yes,  yes,  yes,  yes,  yes,  yes,  bye,  yes),
  abort_workflow:    row(srv, skip, skip, yes,  yes,  yes,  yes,  yes,  yes,  skip, yes),

  ask:               row(agt, rude, rude, rude, rude, rude, yes,  yes,  rude, rude, rude),
  access:            row(agt, rude, rude, rude, yes,  yes,  yes,  yes,  rude, rude, rude),
  ask_withdrawn:     row(agt, rude, skip, skip, skip, skip, yes,  yes,  skip, skip, skip),
  vote:              row(cli, gone, gone, yes,  yes,  yes,  yes,  yes,  yes,  bye,  yes),
  voter_gone:        row(srv, skip, skip, yes,  yes,  yes,  yes,  yes,  yes,  skip, yes),
  revoke_grant:      row(reg, gone, gone, yes,  yes,  yes,  yes,  yes,  yes,  bye,  yes),

  metadata:          row(reg, gone, gone, yes,  yes,  yes,  yes,  yes,  yes,  bye,  yes),
  model:             row(reg, gone, gone, yes,  yes,  yes,  yes,  yes,  yes,  bye,  yes),
  approval_mode:     row(reg, gone, gone, yes,  yes,  yes,  yes,  yes,  yes,  bye,  yes),
  autonomy:          row(reg, gone, gone, yes,  yes,  yes,  yes,  yes,  yes,  bye,  yes),
  agent_mode:        row(reg, gone, gone, yes,  yes,  yes,  yes,  yes,  yes,  bye,  yes),
  agent_option:      row(reg, gone, gone, yes,  yes,  yes,  yes,  yes,  yes,  bye,  yes),
  sandbox:           row(reg, gone, gone, yes,  yes,  yes,  yes,  yes,  yes,  bye,  yes),
  reload_skills:     row(reg, gone, gone, yes,  yes,  yes,  busy, busy, yes,  bye,  yes),
  reload_persona:    row(reg, gone, gone, yes,  yes,  yes,  busy, busy, yes,  bye,  yes),
  change_agent:      row(reg, gone, gone, yes,  wait, yes,  busy, busy, wait, bye,  yes),
  change_cwd:        row(reg, gone, gone, yes,  yes,  yes,  busy, busy, yes,  bye,  yes),
  set_budget:        row(reg, gone, gone, yes,  yes,  yes,  yes,  yes,  yes,  bye,  yes),
  visibility:        row(reg, gone, gone, yes,  yes,  yes,  yes,  yes,  yes,  bye,  yes),

  attach:            row(cli, gone, gone, yes,  yes,  yes,  yes,  yes,  yes,  bye,  yes),
  detach:            row(cli, skip, skip, yes,  yes,  yes,  yes,  yes,  yes,  skip, yes),
  client_expiry:     row(srv, skip, skip, yes,  yes,  yes,  yes,  yes,  yes,  skip, yes),
  shell_started:     row(nam, gone, gone, yes,  yes,  yes,  yes,  yes,  yes,  bye,  yes),
  shell_output:      row(srv, gone, gone, yes,  yes,  yes,  yes,  yes,  yes,  skip, yes),
  shell_result:      row(srv, gone, gone, yes,  yes,  yes,  yes,  yes,  yes,  skip, yes),

  announce:          row(srv, gone, gone, yes,  yes,  yes,  yes,  yes,  yes,  yes,  yes),
};

export function conditionOf(session: Session | null): Condition {
  if (session === null) return "absent";
  if (session.closed) return "closed";
  return session.ending?.reason === "client_close" ? "closing" : session.connection.sessionState;
}

/** The command types, in the order of the table. */
export const COMMAND_TYPES: readonly CommandType[] = Object.keys(ADMISSION).filter(isCommandType);

function isCommandType(text: string): text is CommandType {
  return Object.hasOwn(ADMISSION, text);
}

function row(
  caller: CommandCaller,
  absent: Cell,
  closed: Cell,
  inactive: Cell,
  activating: Cell,
  ready: Cell,
  running: Cell,
  waiting: Cell,
  deactivating: Cell,
  closing: Cell,
  error: Cell,
): AdmissionRow {
  const cells = {
    absent,
    closed,
    inactive,
    activating,
    ready,
    running,
    waiting,
    deactivating,
    closing,
    error,
  };
  return { caller, cells };
}

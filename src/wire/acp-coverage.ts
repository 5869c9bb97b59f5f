/**
 * All of ACP in its newest schema, stable and unstable: what the server does with each part, or
 * why it does not use it. A test compares the rows with the schema of the official SDK and with
 * what the server really calls, serves and announces. `node scripts/acp-table.ts` writes them to
 * `docs/agents.md`.
 */
export type Coverage = { readonly does: string } | { readonly refuses: string };

type Rows = Readonly<Record<string, Coverage>>;

const NO_MCP_OVER_ACP = "the server runs no MCP servers; an agent starts those that it is given";
const OWN_KEYS = "models and keys come from the agent's profile; a client may not replace them";
const OWN_LIST = "clients list and delete Fermata's sessions, not those of the agent";
const NO_PROXY = "the server talks to agents themselves, and is not part of a chain of proxies";
const CALLS_INSTEAD =
  "clients know a sub-agent's work by its tool call (`_meta.parentToolCallId`), not as a session";
const TITLE_OF_OURS = "a name that a client gives is Fermata's own, and survives another agent";
const SESSION_NEW_SAYS = "`session/new` says whether the agent needs a sign-in";

/** Methods that the server calls on an agent. */
export const AGENT_METHOD_COVERAGE: Rows = {
  initialize: { does: "once for each process" },
  authenticate: { does: "when the agent requires it, by each method that has its key" },
  "session/new": { does: "for a new session, and for one that the agent cannot restore" },
  "session/load": { does: "for a session that comes back; what the agent repeats is dropped" },
  "session/resume": { does: "for a session that comes back, before `session/load`" },
  "session/close": { does: "when a session is closed or evicted" },
  "session/fork": { does: "for a branch, and for `btw` and `recap`" },
  "session/list": { does: "for `GET /agents/:name/sessions`, and before one is adopted" },
  "session/delete": { does: "when a session or its tenant is deleted, as well as that goes" },
  "session/prompt": { does: "for each turn, and for messages into a turn" },
  "session/cancel": { does: "when a turn is cancelled" },
  "session/set_mode": { does: "for `POST /session/:id/agent-mode`, and to make the agent ask" },
  "session/set_config_option": {
    does: "for the model, its settings and `POST /session/:id/config-option`",
  },
  "session/archive": { refuses: OWN_LIST },
  "session/unarchive": { refuses: OWN_LIST },
  "session/status": { refuses: "the server tries to restore a session, and has other ways if not" },
  "session/set_title": { refuses: TITLE_OF_OURS },
  logout: { does: "for `POST /agents/:name/logout`" },
  "auth/status": { refuses: SESSION_NEW_SAYS },
  "providers/list": { refuses: OWN_KEYS },
  "providers/set": { refuses: OWN_KEYS },
  "providers/disable": { refuses: OWN_KEYS },
  "mcp/message": { refuses: NO_MCP_OVER_ACP },
  "proxy/initialize": { refuses: NO_PROXY },
  "proxy/successor": { refuses: NO_PROXY },
};

/** Methods that an agent calls on the server. Those of vendors (`_…`) are legal and ignored. */
export const CLIENT_METHOD_COVERAGE: Rows = {
  "session/update": { does: "recorded, and sent to clients" },
  "session/request_permission": { does: "goes through the gates, and to people" },
  "fs/read_text_file": { does: "inside the workspace and `--agent-write-root`" },
  "fs/write_text_file": { does: "in the same places, through the gates" },
  "terminal/create": { does: "inside the workspace, through the gates" },
  "terminal/output": { does: "the last 1 MiB, or less if the agent asks for less" },
  "terminal/wait_for_exit": { does: "answered when the command ends" },
  "terminal/kill": { does: "ends the command; its output stays" },
  "terminal/release": { does: "ends the command, and forgets it" },
  "elicitation/create": { does: "forms and pages are put to people" },
  "elicitation/complete": { does: "ends the ask for a page" },
  "auth/status_update": { does: "taken without effect: accounts are neither kept nor logged" },
  "mcp/message": { refuses: NO_MCP_OVER_ACP },
  "$/cancel_request": { does: "withdraws an ask" },
};

/** Kinds of `session/update`. All are recorded as they came, those of later versions too. */
export const UPDATE_COVERAGE: Rows = {
  user_message_chunk: { does: "recorded" },
  agent_message_chunk: { does: "the answer; a finished turn has it as one text" },
  agent_thought_chunk: { does: "thoughts; a finished turn has them as one text" },
  tool_call: { does: "a finished turn has each call once, in its last state" },
  tool_call_update: { does: "see `tool_call`" },
  plan: { does: "a finished turn has the latest" },
  plan_update: { does: "a finished turn has the latest of each plan; repeated for older clients" },
  plan_removed: { does: "see `plan_update`" },
  available_commands_update: { does: "the agent's slash commands" },
  current_mode_update: { does: "the agent's mode" },
  config_option_update: { does: "the agent's options" },
  session_info_update: { does: "its title is the session's, until a person gives one" },
  usage_update: { does: "how full the context is, and the cost" },
  notice: { does: "of the moment; repeated as text, which stays" },
  compaction_update: {
    does: "a finished turn has each once, with its summary; repeated as a tool call",
  },
  compaction_summary_chunk: { does: "see `compaction_update`" },
  subagent_update: { refuses: CALLS_INSTEAD },
  session_message: { refuses: CALLS_INSTEAD },
  session_message_chunk: { refuses: CALLS_INSTEAD },
};

/** What the server announces to an agent. A profile can withhold some of it. */
export const CLIENT_CAPABILITY_COVERAGE: Rows = {
  "fs.readTextFile": { does: "announced" },
  "fs.writeTextFile": { does: "announced" },
  terminal: { does: "announced" },
  "session.compaction": { does: "announced" },
  "session.configOptions.boolean": {
    does: "announced; `context` shows them, and `reasoning` can be one (`on`, `off`)",
  },
  "session.notices": { does: "announced" },
  subagents: { refuses: CALLS_INSTEAD },
  plan: { does: "announced" },
  "auth.terminal": { does: "announced; the operator runs it: `fermata agents NAME --sign-in`" },
  "elicitation.form": { does: "announced" },
  "elicitation.url": { does: "announced" },
};

/** What an agent may announce. */
export const AGENT_CAPABILITY_COVERAGE: Rows = {
  loadSession: { does: "used" },
  "promptCapabilities.image": { does: "without it an image becomes a note" },
  "promptCapabilities.audio": { does: "without it a recording becomes a note" },
  "promptCapabilities.embeddedContext": { does: "without it a file becomes text" },
  "mcpCapabilities.http": { does: "without it such servers are listed as skipped" },
  "mcpCapabilities.sse": { does: "without it such servers are listed as skipped" },
  "mcpCapabilities.acp": { refuses: NO_MCP_OVER_ACP },
  "sessionCapabilities.list": { does: "see `session/list`" },
  "sessionCapabilities.delete": { does: "see `session/delete`" },
  "sessionCapabilities.additionalDirectories": { does: "gets each `--agent-write-root`" },
  "sessionCapabilities.systemPrompt": { does: "gets skills and persona, in the mode `append`" },
  "sessionCapabilities.systemPrompt.mode.override": {
    refuses: "an agent keeps its own instructions, which say how its tools work",
  },
  "sessionCapabilities.fork": { does: "used for branches" },
  "sessionCapabilities.archive": { refuses: OWN_LIST },
  "sessionCapabilities.status": { refuses: "see `session/status`" },
  "sessionCapabilities.title": { refuses: TITLE_OF_OURS },
  "sessionCapabilities.resume": { does: "used" },
  "sessionCapabilities.close": { does: "used" },
  "auth.status": { refuses: SESSION_NEW_SAYS },
  "auth.logout": { does: "see `logout`" },
  providers: { refuses: OWN_KEYS },
};

/** Why the server does not serve this method of ACP; null if it serves it or does not know it. */
export function whyRefused(method: string): string | null {
  const row = Object.hasOwn(CLIENT_METHOD_COVERAGE, method) && CLIENT_METHOD_COVERAGE[method];
  return row && "refuses" in row ? row.refuses : null;
}

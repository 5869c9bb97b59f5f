/**
 * The Agent Client Protocol's names, version 1. A test compares them with the official SDK, which
 * is not loaded at run time: its import alone takes longer than most agents take to answer.
 */
export const ACP_VERSION = 1;

/** What we call, and an agent serves. */
export const AGENT_METHODS = {
  initialize: "initialize",
  authenticate: "authenticate",
  newSession: "session/new",
  loadSession: "session/load",
  resumeSession: "session/resume",
  listSessions: "session/list",
  closeSession: "session/close",
  forkSession: "session/fork",
  prompt: "session/prompt",
  cancel: "session/cancel",
  setMode: "session/set_mode",
  setConfigOption: "session/set_config_option",
  /** Gone from the protocol, and still the only way to some agents' models. */
  setModel: "session/set_model",
} as const;

/** What an agent calls, and we serve. */
export const CLIENT_METHODS = {
  update: "session/update",
  requestPermission: "session/request_permission",
  readTextFile: "fs/read_text_file",
  writeTextFile: "fs/write_text_file",
  createTerminal: "terminal/create",
  terminalOutput: "terminal/output",
  waitForTerminalExit: "terminal/wait_for_exit",
  killTerminal: "terminal/kill",
  releaseTerminal: "terminal/release",
  createElicitation: "elicitation/create",
  completeElicitation: "elicitation/complete",
} as const;

/** Said by either side, of a request that it does not need an answer to any more. */
export const CANCEL_REQUEST = "$/cancel_request";

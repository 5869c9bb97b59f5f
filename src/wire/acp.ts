/**
 * Version and method names of the Agent Client Protocol that the server uses; `acp-coverage.ts` has
 * the rest. Tests compare both with the official SDK, which the server does not load: its import
 * takes longer than most agents take to answer.
 */
export const ACP_VERSION = 1;

/** Methods that the server calls on an agent. */
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
  /** Removed from the protocol, but some agents have no other method to set a model. */
  setModel: "session/set_model",
} as const;

/** Methods that an agent calls on the server. */
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
  authStatusUpdate: "auth/status_update",
} as const;

/** Methods of vendors that the server answers, beside those of the protocol. */
export const VENDOR_METHODS = {
  /** Qwen Code fetches what was said into its turn after each round of tools. */
  takeMessages: "craft/drainMidTurnQueue",
  /** It asks before it goes on by itself because its plan is not done. */
  mayGoOn: "craft/claimTodoStopGuardContinuation",
} as const;

/** Sent by either side about a request whose answer it no longer needs. */
export const CANCEL_REQUEST = "$/cancel_request";

/** What a tool called by a person may answer: it is an event for ever, and somebody reads it. */
export const TOOL_ANSWER_CHARS_MAX = 64 * 1_024;

/** The line that says what a call will do. */
export const TOOL_TITLE_CHARS_MAX = 256;

/** What a tool says of itself, as it is listed. */
export const TOOL_DESCRIPTION_CHARS_MAX = 1_024;

/** How long a command of the `shell` tool may run: builds and tests are what it is for. */
export const TOOL_SHELL_MS_MAX = 10 * 60 * 1_000;

/** A file that names MCP servers, and how many it may name. */
export const MCP_CONFIG_BYTES_MAX = 1_024 * 1_024;
export const MCP_SERVERS_MAX = 64;

/** Names of servers, and of their tools; MCP's own figure for the latter. */
export const MCP_SERVER_NAME_CHARS_MAX = 64;
export const MCP_TOOL_NAME_CHARS_MAX = 128;

/** Tools that one server may offer, and pages that it may tell them in. */
export const MCP_TOOLS_MAX = 1_024;
export const MCP_PAGES_MAX = 64;

/** One message of a server; what is larger is not kept. */
export const MCP_MESSAGE_BYTES_MAX = 32 * 1_024 * 1_024;

/** Bytes that wait for a server to read them. */
export const MCP_OUTBOX_BYTES_MAX = 64 * 1_024 * 1_024;

/** Until a server is there: some are downloaded by their command when it is first run. */
export const MCP_CONNECT_MS_MAX = 30_000;

/** How long whoever wants to know all tools waits for servers that are not there yet. */
export const MCP_PATIENCE_MS_MAX = 10_000;

/** For one page of a server's tools. */
export const MCP_LIST_MS_MAX = 10_000;

/** For one call of a tool. */
export const MCP_CALL_MS_MAX = 5 * 60 * 1_000;

/** Calls to one server that have no answer yet. */
export const MCP_CALLS_OPEN_MAX = 64;

/** How long a connection that nobody uses is kept. */
export const MCP_IDLE_MS = 10 * 60 * 1_000;

/** How long a server may take to hear that its session is over. */
export const MCP_FAREWELL_MS_MAX = 1_500;

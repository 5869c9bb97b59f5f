/** What a tool called by a person may answer: it is an event for ever, and people read it. */
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

/** How long a listing of all tools waits for servers that are not connected yet. */
export const MCP_PATIENCE_MS_MAX = 10_000;

/** For one page of a server's tools. */
export const MCP_LIST_MS_MAX = 10_000;

/** How long a server believes what it has found installed: lists of agents look at many folders. */
export const INSTALLED_AGENTS_FRESH_MS = 10_000;

/** For one call of a tool. */
export const MCP_CALL_MS_MAX = 5 * 60 * 1_000;

/** Calls to one server that have no answer yet. */
export const MCP_CALLS_OPEN_MAX = 64;

/** How long an unused connection is kept. */
export const MCP_IDLE_MS = 10 * 60 * 1_000;

/** How long a server may take to hear that its session is over. */
export const MCP_FAREWELL_MS_MAX = 1_500;

/** Toolboxes that are open at once: one for each session at an agent. Tenants have shares. */
export const TOOLBOXES_MAX = 512;

/** Connections of one toolbox: agents have one, and a new one before the old is gone. */
export const TOOLBOX_CONNECTIONS_MAX = 4;

/** Connections of all toolboxes together. Tenants have shares. */
export const TOOLBOXES_CONNECTIONS_MAX = 1_024;

/** Calls that are open in one toolbox, and in all together. Tenants have shares of the latter. */
export const TOOLBOX_CALLS_MAX = 16;
export const TOOLBOXES_CALLS_MAX = 1_024;

/** One message of an agent to a tool: a task in words, never a file. */
export const TOOLBOX_LINE_BYTES_MAX = 1_024 * 1_024;

/** Answers that wait for an agent to read them; until it does, nothing more is read of it. */
export const TOOLBOX_OUTBOX_BYTES_MAX = 1_024 * 1_024;

/** How often an agent hears that a call goes on: many give up after a silent minute. */
export const TOOLBOX_PROGRESS_MS = 10_000;

/**
 * How long the next turn waits for an agent to say that all its calls are on their way. One that
 * was slower is not waited for again.
 */
export const TOOLBOX_SETTLE_MS_MAX = 2_000;

/** What a tool says of its progress. */
export const TOOLBOX_PROGRESS_CHARS_MAX = 512;

/** How long a new connection has to say whose it is, and in how many bytes. */
export const TOOLBOX_GREETING_MS_MAX = 5_000;
export const TOOLBOX_GREETING_BYTES_MAX = 256;

/** Connections that have not said yet whose they are; for one more, the oldest goes. */
export const TOOLBOX_GREETINGS_MAX = 64;

/** The path of a socket: macOS has room for one byte more, Linux for four. */
export const SOCKET_PATH_BYTES_MAX = 103;

/** How often the files of a run folder are touched: programs clean old ones away. */
export const RUN_FOLDER_TOUCH_MS = 6 * 60 * 60 * 1_000;

/** Leftover entries of a run folder that are removed at a time. */
export const RUN_FOLDER_ENTRIES_MAX = 10_000;

import {
  AGENT_MEMORY_MB_MAX,
  AGENT_PROCESSES_CHOSEN_MAX,
  CHILDREN_OPEN_MAX,
  DISK_MB_MAX,
  TURN_MEMORY_MB_MAX,
} from "../../core/limits.ts";
import { MEDIATION_POLICIES } from "../../core/policy/ask.ts";
import {
  bytes,
  choice,
  count,
  folder,
  folders,
  ms,
  parseText,
  positiveMs,
  type ServeOption,
  text,
  texts,
  toggle,
  whole,
} from "./option-kinds.ts";

/**
 * The options of `fermata serve`. The name is the flag and the key in the file; in capitals, after
 * FERMATA_, it is the environment variable. The order is that of the help.
 */
export const OPTIONS = {
  hostname: text({ help: "Address to listen on (127.0.0.1)", placeholder: "HOST" }),
  port: whole(0, 65_535, {
    help: "Port; 0 takes a free one (4170)",
    placeholder: "PORT",
    short: "p",
  }),
  token: text({
    help: "The operator's token; callers from other machines need it, or one of `fermata tokens`",
    variables: ["QWEN_SERVER_TOKEN"],
  }),
  "token-file": text({
    help: "File with the operator's token, which then is in no list of processes",
    placeholder: "FILE",
  }),
  "jwt-jwks": text({
    help: "Accept JWTs (RS256, ES256) signed by these keys, beside tokens",
    placeholder: "FILE|URL",
  }),
  "jwt-issuer": text({ help: "Issuer of the JWTs", placeholder: "NAME" }),
  "jwt-audience": text({ help: "Audience of the JWTs", placeholder: "NAME" }),
  "jwt-tenant-claim": text({
    help: "Claim with the tenant (tenant_id)",
    placeholder: "CLAIM",
  }),
  "jwt-role-claim": text({ help: "Claim with the role (role)", placeholder: "CLAIM" }),
  "require-auth": toggle({ help: "Require the token for /health on this machine too" }),
  "allow-origin": texts({
    help: "Web origin that may call the server; may be repeated",
    placeholder: "URL",
  }),
  "allow-host": texts({
    help: "Name of a proxy or tunnel by which callers reach the server; may be repeated",
    placeholder: "NAME",
  }),
  "trusted-proxy": texts({
    help: "Proxy whose X-Forwarded-For header counts; may be repeated",
    placeholder: "ADDRESS",
  }),
  "max-connections": count("Connections with a request at a time; 0 is no limit (256)", 65_536),
  "tls-cert": text({ help: "Certificate, to serve HTTPS", placeholder: "FILE" }),
  "tls-key": text({ help: "Private key of the certificate", placeholder: "FILE" }),
  web: folder("Directory of a web client to serve at / instead of the server's own page"),
  "rate-limit": toggle({ help: "Limit the requests of each caller" }),
  "rate-limit-prompt": whole(1, 1_000_000, { help: "Prompts per window (10)" }),
  "rate-limit-mutation": whole(1, 1_000_000, { help: "Other changes per window (30)" }),
  "rate-limit-read": whole(1, 1_000_000, { help: "Reads per window (120)" }),
  "rate-limit-window-ms": positiveMs("Length of the window (60000)"),

  workspace: folders("Directory of sessions; may be repeated, the first is the default (.)"),
  "workspace-root": folders(
    "Directory below which tenants may add workspaces; may be repeated (anywhere)",
  ),
  untrusted: toggle({
    help: "Load no skills or personas from a workspace until it is trusted",
  }),
  "session-scope": choice(["single", "thread"], "single", {
    help: "Whether clients share one session per workspace, or each gets a new one (single)",
  }),
  "max-sessions": count("Live sessions per workspace; 0 is no limit (20)"),
  "max-pending-prompts-per-session": count("Pending prompts per session; 0 is no limit (5)", 1_000),
  "max-children": whole(0, CHILDREN_OPEN_MAX, {
    help: "Child sessions of a session at the same time; 0 lets no agent delegate (0)",
  }),
  "turn-memory-max-mb": whole(1, TURN_MEMORY_MB_MAX, {
    help: "Memory of all open turns together (a sixth of the heap of Node)",
    placeholder: "MIB",
  }),
  "prompt-deadline-ms": ms("Time limit of a prompt (none)", ["QWEN_SERVE_PROMPT_DEADLINE_MS"]),
  "session-idle-timeout-ms": ms(
    "Evict a session that is unused for this long; 0 is never (1800000)",
  ),
  "session-reap-interval-ms": ms("How often the server looks for unused sessions (60000)"),
  "drain-ms": ms("How long running turns may go on when the server is told to stop (10000)"),
  "session-restore-timeout-ms": positiveMs("Time limit to restore a session (60000)"),
  "permission-policy": choice(MEDIATION_POLICIES, "first-responder", {
    help: "Who answers the permission requests of agents (first-responder)",
  }),
  "consensus-quorum": whole(1, 256, { help: "Votes that `consensus` needs (a majority)" }),
  "permission-response-timeout-ms": ms(
    "Refuse a permission request after this long; 0 is never (0)",
  ),
  "enable-session-shell": toggle({ help: "Let clients run shell commands; needs a token" }),

  "event-ring-size": whole(1, 1_000_000, {
    help: "Events that a reconnecting client can get exactly (8000)",
  }),
  "compacted-replay-max-bytes": bytes(
    "Size of the finished turns that a load shows (4194304)",
    268_435_456,
  ),
  "max-journal-events": whole(1, 1_000_000, {
    help: "Events of the open turn that a load shows (10000)",
  }),
  "max-journal-bytes": bytes("Size of these events (8388608)", 268_435_456),
  "writer-idle-timeout-ms": ms("Close a stream whose client reads nothing for this long (never)", [
    "QWEN_SERVE_WRITER_IDLE_TIMEOUT_MS",
  ]),

  agent: text({
    help: 'Agent of new sessions; "fermata agents" lists them (echo)',
    placeholder: "NAME",
    short: "a",
  }),
  "agent-command": text({
    help: "Command line of an agent that speaks ACP, instead of --agent; paths begin here",
    placeholder: "COMMAND",
  }),
  "agent-name": text({
    help: "Name of the agent of --agent-command (that of its file); a known one has its profile",
    placeholder: "NAME",
  }),
  "agent-env": texts({
    help: "Variable that this agent gets of the server's environment; may be repeated",
    placeholder: "NAME",
  }),
  "agent-user": text({
    help: "User of the system that agents, tools and shells run as (the server's own)",
    placeholder: "NAME|UID:GID",
  }),
  "agent-home": folder("Home directory of that user (the one of its account)"),
  "secrets-dir": folder(
    "Folder of secrets for agents: TENANT/USER/NAME, TENANT/NAME or NAME (the environment)",
  ),
  "agent-homes": folder(
    "Folder in which each user has homes of their own for agents, once there are tokens",
  ),
  "agent-write-root": folders(
    "Directory that agents may use beside their workspaces; may be repeated (none)",
  ),
  "run-dir": folder(
    "Where the server makes the folder in which agents reach its tools (the temporary one)",
  ),
  preheat: toggle({ help: "Start the agent before the first session needs it" }),
  "initialize-timeout-ms": positiveMs(
    "Time limit for an agent to start (60000), and to answer a call (10000)",
  ),
  "channel-idle-timeout-ms": ms("How long an unused agent process stays (300000)"),
  "max-agents": whole(1, AGENT_PROCESSES_CHOSEN_MAX, {
    help: "Agent processes at a time, which tenants and users share (64)",
  }),
  "agent-memory-max-mb": whole(0, AGENT_MEMORY_MB_MAX, {
    help: "Memory of all agents together; 0 is no limit (half of the machine's)",
    placeholder: "MIB",
  }),
  "mcp-config": text({
    help: "File with the MCP servers (~/.fermata/mcp.json)",
    placeholder: "FILE",
  }),
  "extension-config": text({
    help: "File with the extensions (~/.fermata/extensions.json)",
    placeholder: "FILE",
  }),

  prices: text({
    help: "File with prices of models and agents, which override the defaults",
    placeholder: "FILE",
  }),
  "tenant-credits": choice(["granted", "unlimited"], "granted", {
    help: "Default limit of tenants other than `local` (granted)",
  }),

  store: {
    ...text({
      help: "Store of the sessions: a bundled one, or the file or package of another (sqlite)",
      placeholder: "sqlite|memory|FILE|PACKAGE",
    }),
    default: "sqlite",
    parse: parseText,
  },
  "store-option": texts({
    help: "Option of a store that is not bundled; may be repeated",
    placeholder: "NAME=VALUE",
  }),
  data: text({ help: "Data directory (~/.fermata)", placeholder: "DIR" }),
  "shared-data": toggle({
    help: "Share the data directory with other servers that say so too; not where credits count",
  }),
  "tenant-disk-max-mb": whole(0, DISK_MB_MAX, {
    help: "Disk that the sessions of one tenant may take; 0 is no limit (none)",
    placeholder: "MIB",
  }),
  "disk-reserve-mb": whole(0, DISK_MB_MAX, {
    help: "Disk that is kept free, so that turns at work can end (64)",
    placeholder: "MIB",
  }),
  durability: choice(["full", "relaxed"], "full", {
    help: "`relaxed` is faster, but may lose the last changes in a power cut (full)",
  }),
  config: text({
    help: "Read options from this file (~/.fermata/config.json)",
    placeholder: "FILE",
  }),
  "log-level": choice(["debug", "info", "warn", "error", "silent"], "info", {
    help: "Level of the log, JSON lines on the error output (info)",
  }),
} as const;

export type OptionName = keyof typeof OPTIONS;

/** The value of each option: from a flag, a variable or the file, else its default. */
export type ServeOptions = {
  readonly [Name in OptionName]: (typeof OPTIONS)[Name] extends ServeOption<infer Value>
    ? Value
    : never;
};

export const OPTION_NAMES: readonly OptionName[] = Object.keys(OPTIONS).filter(isOptionName);

export function isOptionName(name: string): name is OptionName {
  return Object.hasOwn(OPTIONS, name);
}

/** The environment variable of an option: FERMATA_MAX_SESSIONS of `max-sessions`. */
export function variableOf(name: string): string {
  return `FERMATA_${name.toUpperCase().replaceAll("-", "_")}`;
}

/** The headings of the help, by the option below each. */
const HEADINGS: Partial<Record<OptionName, string>> = {
  hostname: "Network and access",
  workspace: "Sessions",
  "event-ring-size": "Events",
  agent: "Agents",
  prices: "Credits",
  store: "Storage and log",
};

/** The options of `fermata serve`, as its help lists them. */
export function serveOptionsText(): string {
  const texts = OPTION_NAMES.map(optionText).join("");
  return `\nOptions of the server (defaults in parentheses):\n${texts}`;
}

function optionText(name: OptionName): string {
  const { placeholder, short, help } = OPTIONS[name];
  const heading = HEADINGS[name];
  const flag = `${short === null ? "" : `-${short}, `}--${name}`;
  const value = placeholder === null ? "" : ` ${placeholder}`;
  return `${heading === undefined ? "" : `\n${heading}:\n`}  ${flag}${value}\n        ${help}\n`;
}

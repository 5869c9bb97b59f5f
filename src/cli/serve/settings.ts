import { readFile, realpath, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { getHeapStatistics } from "node:v8";
import type { AgentProfile } from "../../agent/profile/profile.ts";
import { OwnFolders } from "../../agent/workspace/location.ts";
import {
  TURN_BYTES_MAX,
  TURN_MEMORY_DIVISOR_MIN,
  TURN_MEMORY_HEAP_DIVISOR_MIN,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { fileFault } from "../../platform/file-fault.ts";
import { canonical } from "../../platform/folder.ts";
import { WebFolder } from "../../server/page/web-folder.ts";
import { readServerSettings, type ServerSettings } from "../../server/settings.ts";
import {
  DEFAULT_SESSION_SETTINGS,
  type SessionSettings,
  type TurnMemoryBounds,
} from "../../session/world.ts";
import { homeOf } from "../home.ts";
import type { ServeOptions } from "./options.ts";
import { scratchFolder } from "./workspace.ts";

/** The settings of the HTTP server. `hasIdentities`: whether callers can have tokens or JWTs. */
export async function serverSettings(
  options: ServeOptions,
  hasIdentities: boolean,
): Promise<Result<ServerSettings>> {
  const tls = await tlsOf(options);
  if (!tls.ok) return tls;
  const workspaces = workspacesOf(options);
  // As the operator has written them.
  const missing =
    (await missingDirectory("--workspace", options.workspace)) ??
    (await missingDirectory("--workspace-root", options["workspace-root"]));
  if (missing !== null) return missing;
  const token = await tokenOf(options);
  if (!token.ok) return token;
  const known = { ...options, token: token.value };
  return byOption(known, hasIdentities, workspaces, tls.value);
}

/** The folders of sessions, as absolute paths: those named, else the current directory. */
export function workspacesOf({ workspace }: Pick<ServeOptions, "workspace">): readonly string[] {
  return (workspace.length === 0 ? ["."] : workspace).map((path) => resolve(path));
}

/** Refuses with the name of the option instead of the field, which the operator does not know. */
function byOption(
  options: ServeOptions,
  hasIdentities: boolean,
  workspaces: readonly string[],
  tls: { cert: string; key: string } | null,
): Result<ServerSettings> {
  const read = readServerSettings({
    ...withoutNulls({
      hostname: options.hostname,
      port: options.port,
      maxConnections: options["max-connections"],
      maxSessions: options["max-sessions"],
      maxPendingPrompts: options["max-pending-prompts-per-session"],
      sessionRestoreTimeoutMs: options["session-restore-timeout-ms"],
    }),
    token: options.token?.trim() ?? null,
    hasIdentities,
    requireAuth: options["require-auth"],
    allowOrigins: options["allow-origin"],
    allowHosts: options["allow-host"],
    trustedProxies: options["trusted-proxy"],
    tls,
    promptDeadlineMs: orNull(options["prompt-deadline-ms"]),
    writerIdleTimeoutMs: orNull(options["writer-idle-timeout-ms"]),
    enableShell: options["enable-session-shell"],
    rateLimit: rateLimitOf(options),
    permissionPolicy: options["permission-policy"],
    consensusQuorum: options["consensus-quorum"],
    sessionScope: options["session-scope"],
    workspaces,
    workspaceRoots: options["workspace-root"].map((path) => resolve(path)),
  });
  if (read.ok) return read;
  const { path, ...details } = read.refusal.details;
  const field = String(path).split(".")[0] ?? "";
  const isInFile = field === "token" && options["token-file"] !== null;
  const option = isInFile ? "--token-file" : (OPTION_OF[field] ?? field);
  return fail("invalid_server_config", { path: option, ...details });
}

const OPTION_OF: Readonly<Record<string, string>> = {
  hostname: "--hostname",
  port: "--port",
  token: "--token",
  requireAuth: "--require-auth",
  allowOrigins: "--allow-origin",
  allowHosts: "--allow-host",
  trustedProxies: "--trusted-proxy",
  maxConnections: "--max-connections",
  enableShell: "--enable-session-shell",
  permissionPolicy: "--permission-policy",
  rateLimit: "--rate-limit",
  workspaces: "--workspace",
  workspaceRoots: "--workspace-root",
};

async function missingDirectory(
  option: string,
  folders: readonly string[],
): Promise<Result<never> | null> {
  for (const folder of folders) {
    const found = await stat(folder).catch(() => null);
    if (found?.isDirectory()) continue;
    const reason = found === null ? missingText(folder) : `"${folder}" is a file, and no directory`;
    return fail("invalid_server_config", { path: option, reason });
  }
  return null;
}

/** In a file or a variable, no shell makes a home directory of "~". */
function missingText(folder: string): string {
  const how = folder.startsWith("~") ? "write the whole path instead of ~" : "make it first";
  return `there is no directory "${folder}"; ${how}, or name another`;
}

/** The settings of all sessions. */
export function sessionSettings(
  options: ServeOptions,
  defaultAgent: string,
  profiles: ReadonlyMap<string, AgentProfile>,
): SessionSettings {
  const defaults = DEFAULT_SESSION_SETTINGS;
  const askMs = options["permission-response-timeout-ms"] ?? defaults.askMs;
  const { replay } = defaults;
  const isReaped = options["session-reap-interval-ms"] !== 0;
  return {
    ...defaults,
    defaultAgent,
    agentNames: [...profiles.keys()],
    enableShell: options["enable-session-shell"],
    asking: new Map([...profiles].map(([name, { ask }]) => [name, ask])),
    policy: options["permission-policy"],
    quorum: options["consensus-quorum"],
    askMs: orNull(askMs),
    promptMs: orNull(options["prompt-deadline-ms"]),
    pendingPromptsMax: orNull(
      options["max-pending-prompts-per-session"] ?? defaults.pendingPromptsMax,
    ),
    childrenOpenMax: options["max-children"] ?? defaults.childrenOpenMax,
    sessionsLiveMax: orNull(options["max-sessions"] ?? defaults.sessionsLiveMax),
    idleMs: isReaped ? orNull(options["session-idle-timeout-ms"] ?? defaults.idleMs) : null,
    reapMs: options["session-reap-interval-ms"] || defaults.reapMs,
    drainMs: options["drain-ms"] ?? defaults.drainMs,
    eventsKeptMax: options["event-ring-size"] ?? defaults.eventsKeptMax,
    replay: {
      compactedBytesMax: options["compacted-replay-max-bytes"] ?? replay.compactedBytesMax,
      journalEventsMax: options["max-journal-events"] ?? replay.journalEventsMax,
      journalBytesMax: options["max-journal-bytes"] ?? replay.journalBytesMax,
    },
    turnMemory: turnMemoryOf(options["turn-memory-max-mb"], getHeapStatistics().heap_size_limit),
  };
}

const MEBIBYTE = 1_024 * 1_024;

/** The memory of open turns: the option, else a part of the heap. */
export function turnMemoryOf(optionMb: number | null, heapBytes: number): TurnMemoryBounds {
  const part = Math.floor(heapBytes / TURN_MEMORY_HEAP_DIVISOR_MIN);
  const allBytesMax = optionMb === null ? part : optionMb * MEBIBYTE;
  const eachBytesMax = Math.min(TURN_BYTES_MAX, Math.floor(allBytesMax / TURN_MEMORY_DIVISOR_MIN));
  return { allBytesMax, eachBytesMax };
}

function rateLimitOf(options: ServeOptions) {
  if (!options["rate-limit"]) return null;
  return withoutNulls({
    prompt: options["rate-limit-prompt"],
    mutation: options["rate-limit-mutation"],
    read: options["rate-limit-read"],
    windowMs: options["rate-limit-window-ms"],
  });
}

/** Whether callers need a token even where none is stored. */
export function asksByOption(options: ServeOptions): boolean {
  return [options.token, options["token-file"], options["jwt-jwks"]].some((one) => one !== null);
}

/** The operator's token, from its option or its file. */
async function tokenOf(options: ServeOptions): Promise<Result<string | null>> {
  const { token, "token-file": path } = options;
  if (path === null) return ok(token);
  const wrong = (reason: string) => fail("invalid_server_config", { path: "--token-file", reason });
  if (token !== null) return wrong("give --token or --token-file, not both");
  try {
    const read = (await readFile(path, "utf8")).trim();
    return read === "" ? wrong(`${path} is empty; write the token into it`) : ok(read);
  } catch (thrown) {
    return wrong(`${path}: ${fileFault(thrown)}`);
  }
}

async function tlsOf(options: ServeOptions): Promise<Result<{ cert: string; key: string } | null>> {
  const { "tls-cert": cert, "tls-key": key } = options;
  if (cert === null && key === null) return ok(null);
  if (cert === null || key === null) {
    const reason = "give both, or neither";
    return fail("invalid_server_config", { path: "--tls-cert and --tls-key", reason });
  }
  const certText = await pemOf("--tls-cert", cert);
  const keyText = await pemOf("--tls-key", key);
  if (!certText.ok) return certText;
  return keyText.ok ? ok({ cert: certText.value, key: keyText.value }) : keyText;
}

async function pemOf(option: string, path: string): Promise<Result<string>> {
  try {
    return ok(await readFile(path, "utf8"));
  } catch (thrown) {
    const reason = `${path}: ${fileFault(thrown)}`;
    return fail("invalid_server_config", { path: option, reason });
  }
}

/** Zero means no limit. */
function orNull(value: number | null): number | null {
  return value === 0 ? null : value;
}

/** Drops the options that are not set, so that their defaults apply. */
function withoutNulls(values: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
}

/** The data directory, and the folders in it that are closed to clients and agents. */
export interface DataFolder {
  readonly folder: string;
  readonly own: OwnFolders;
  /** The folders that are open to agents beside their workspaces. */
  readonly roots: readonly string[];
}

/**
 * The folders of the server itself: its data, its home, and the keys and homes of users. Only
 * `skills` may be read, and only in the scratch folder may agents work.
 */
export function ownFolders(
  options: ServeOptions,
  dataFolder: string,
  env: NodeJS.ProcessEnv,
): Promise<OwnFolders> {
  const { "secrets-dir": secrets, "agent-homes": homes } = options;
  const ofUsers = [secrets, homes].flatMap((folder) => (folder === null ? [] : [resolve(folder)]));
  const closed = [homeOf(env), dataFolder, ...ofUsers];
  return OwnFolders.at(closed, ["skills"], [scratchFolder(dataFolder)]);
}

/** Refuses a workspace inside the server's own folders: an agent could do nothing there. */
export async function checkWorkspaces(
  { workspaces }: ServerSettings,
  own: OwnFolders,
): Promise<Result<never> | null> {
  const paths = await Promise.all(workspaces.map(canonical));
  if (!paths.some(own.isClosed)) return null;
  const reason = "agents cannot work in the data directory, or another folder of the server";
  return fail("invalid_server_config", { path: "--workspace", reason });
}

/** The real paths of --agent-write-root, which must not lead to the server's own folders. */
export async function writeRoots(
  { "agent-write-root": folders }: ServeOptions,
  own: OwnFolders,
): Promise<Result<readonly string[]>> {
  const roots: string[] = [];
  for (const folder of folders) {
    const real = await realpath(folder).catch(() => null);
    const isFolder = real !== null && (await stat(real)).isDirectory();
    const refused = (reason: string) =>
      fail("invalid_server_config", { path: "--agent-write-root", reason });
    if (real === null || !isFolder) return refused(`"${folder}" is no directory`);
    if (own.isTouchedBy(real)) return refused(`"${folder}" has files of the server in it`);
    roots.push(real);
  }
  return ok([...new Set(roots)]);
}

/** The web client of --web, and the server's own folders with that of the client among them. */
export interface OpenedWeb {
  readonly web: WebFolder | null;
  readonly own: OwnFolders;
}

/**
 * Opens the folder of the web client. Its scripts act for people who have signed in, so it is
 * closed to agents as the server's own folders are; and it has none of those in it.
 */
export async function openWeb(
  { web: path }: ServeOptions,
  own: OwnFolders,
): Promise<Result<OpenedWeb>> {
  if (path === null) return ok({ web: null, own });
  const missing = await missingDirectory("--web", [path]);
  if (missing !== null) return missing;
  const real = await canonical(resolve(path));
  const refused = (reason: string) => fail("invalid_server_config", { path: "--web", reason });
  if (own.isTouchedBy(real)) {
    return refused(`"${path}" has files of the server in it, or is among them; choose another`);
  }
  const web = await WebFolder.open(real);
  if (web === null) {
    return refused(`"${path}" has no readable index.html; name the folder of a built web client`);
  }
  const { paths } = own;
  return ok({ web, own: OwnFolders.of({ ...paths, closed: [...paths.closed, real] }) });
}

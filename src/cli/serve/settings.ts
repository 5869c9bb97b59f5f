import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { AgentProfile } from "../../agent/profile/profile.ts";
import { OwnFolders } from "../../agent/workspace/location.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { readServerSettings, type ServerSettings } from "../../server/settings.ts";
import { canonical } from "../../server/workspaces.ts";
import { DEFAULT_SESSION_SETTINGS, type SessionSettings } from "../../session/settings.ts";
import { homeOf } from "../home.ts";
import type { Chosen } from "./options.ts";

/** What was chosen, as the server wants to know it, and whether callers can say who they are. */
export async function serverSettings(
  chosen: Chosen,
  hasIdentities: boolean,
): Promise<Result<ServerSettings>> {
  const tls = await tlsOf(chosen);
  if (!tls.ok) return tls;
  const workspaces = chosen.workspace.length === 0 ? ["."] : chosen.workspace;
  const missing = await missingFolder(workspaces);
  if (missing !== null) return notThere("--workspace", missing);
  const missingRoot = await missingFolder(chosen["workspace-root"]);
  if (missingRoot !== null) return notThere("--workspace-root", missingRoot);
  return byOption(chosen, hasIdentities, workspaces, tls.value);
}

/** What is wrong is told by the name of the option, which is all that a person knows of it. */
function byOption(
  chosen: Chosen,
  hasIdentities: boolean,
  workspaces: readonly string[],
  tls: { cert: string; key: string } | null,
): Result<ServerSettings> {
  const read = readServerSettings({
    ...given({
      hostname: chosen.hostname,
      port: chosen.port,
      maxConnections: chosen["max-connections"],
      maxSessions: chosen["max-sessions"],
      maxPendingPrompts: chosen["max-pending-prompts-per-session"],
      sessionRestoreTimeoutMs: chosen["session-restore-timeout-ms"],
      verdictLeadMs: chosen["verdict-lead-ms"],
    }),
    token: chosen.token?.trim() ?? null,
    hasIdentities,
    requireAuth: chosen["require-auth"],
    allowOrigins: chosen["allow-origin"],
    trustedProxies: chosen["trusted-proxy"],
    tls,
    promptDeadlineMs: orNull(chosen["prompt-deadline-ms"]),
    writerIdleTimeoutMs: orNull(chosen["writer-idle-timeout-ms"]),
    enableShell: chosen["enable-session-shell"],
    rateLimit: rateLimitOf(chosen),
    permissionPolicy: chosen["permission-policy"],
    consensusQuorum: chosen["consensus-quorum"],
    sessionScope: chosen["session-scope"],
    workspaces: workspaces.map((path) => resolve(path)),
    workspaceRoots: chosen["workspace-root"].map((path) => resolve(path)),
  });
  if (read.ok) return read;
  const { path, ...details } = read.refusal.details;
  const field = String(path).split(".")[0] ?? "";
  return fail("invalid_server_config", { path: OPTION_OF[field] ?? field, ...details });
}

const OPTION_OF: Readonly<Record<string, string>> = {
  hostname: "--hostname",
  port: "--port",
  token: "--token",
  requireAuth: "--require-auth",
  allowOrigins: "--allow-origin",
  trustedProxies: "--trusted-proxy",
  maxConnections: "--max-connections",
  enableShell: "--enable-session-shell",
  rateLimit: "--rate-limit",
  workspaces: "--workspace",
  workspaceRoots: "--workspace-root",
};

function notThere(path: string, folder: string): Result<never> {
  return fail("invalid_server_config", { path, reason: `there is no directory "${folder}"` });
}

async function missingFolder(paths: readonly string[]): Promise<string | null> {
  for (const path of paths) {
    const found = await stat(path).catch(() => null);
    if (!found?.isDirectory()) return path;
  }
  return null;
}

/** The same, as sessions want to know it. */
export function sessionSettings(
  chosen: Chosen,
  defaultAgent: string,
  profiles: ReadonlyMap<string, AgentProfile>,
): SessionSettings {
  const usual = DEFAULT_SESSION_SETTINGS;
  const askMs = chosen["permission-response-timeout-ms"] ?? usual.askMs;
  const { replay } = usual;
  const isReaped = chosen["session-reap-interval-ms"] !== 0;
  return {
    ...usual,
    defaultAgent,
    agentNames: [...profiles.keys()],
    asking: new Map([...profiles].map(([name, { ask }]) => [name, ask])),
    policy: chosen["permission-policy"],
    quorum: chosen["consensus-quorum"],
    askMs: orNull(askMs),
    promptMs: orNull(chosen["prompt-deadline-ms"]),
    pendingPromptsMax: orNull(chosen["max-pending-prompts-per-session"] ?? usual.pendingPromptsMax),
    sessionsLiveMax: orNull(chosen["max-sessions"] ?? usual.sessionsLiveMax),
    idleMs: isReaped ? orNull(chosen["session-idle-timeout-ms"] ?? usual.idleMs) : null,
    reapMs: chosen["session-reap-interval-ms"] || usual.reapMs,
    eventsKeptMax: chosen["event-ring-size"] ?? usual.eventsKeptMax,
    replay: {
      compactedBytesMax: chosen["compacted-replay-max-bytes"] ?? replay.compactedBytesMax,
      journalEventsMax: chosen["max-journal-events"] ?? replay.journalEventsMax,
      journalBytesMax: chosen["max-journal-bytes"] ?? replay.journalBytesMax,
    },
  };
}

function rateLimitOf(chosen: Chosen) {
  if (!chosen["rate-limit"]) return null;
  return given({
    prompt: chosen["rate-limit-prompt"],
    mutation: chosen["rate-limit-mutation"],
    read: chosen["rate-limit-read"],
    windowMs: chosen["rate-limit-window-ms"],
  });
}

async function tlsOf(chosen: Chosen): Promise<Result<{ cert: string; key: string } | null>> {
  const { "tls-cert": cert, "tls-key": key } = chosen;
  if (cert === null && key === null) return ok(null);
  if (cert === null || key === null) {
    const reason = "a certificate and its key are given together";
    return fail("invalid_server_config", { path: "--tls-cert and --tls-key", reason });
  }
  try {
    return ok({ cert: await readFile(cert, "utf8"), key: await readFile(key, "utf8") });
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return fail("invalid_server_config", { path: "--tls-cert or --tls-key", reason });
  }
}

/** Zero is no limit, wherever there can be none. */
function orNull(value: number | null): number | null {
  return value === 0 ? null : value;
}

/** Without what was not chosen, so that it is as usual. */
function given(values: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
}

/** Where a server keeps its files, and what of that is closed to all that it serves. */
export interface DataFolder {
  readonly folder: string;
  readonly own: OwnFolders;
}

/** What is everybody's: the data, and the home with configuration and, to be read, skills. */
export function ownFolders(dataFolder: string, env: NodeJS.ProcessEnv): Promise<OwnFolders> {
  return OwnFolders.at([homeOf(env), dataFolder], ["skills"]);
}

/** Agents could do nothing in a workspace that is all the server's own, so none is started with. */
export async function workspaceFault(
  { workspaces }: ServerSettings,
  own: OwnFolders,
): Promise<Result<never> | null> {
  const paths = await Promise.all(workspaces.map(canonical));
  if (!paths.some(own.isClosed)) return null;
  const reason = "agents cannot work where the server keeps its data or has its home";
  return fail("invalid_server_config", { path: "--workspace", reason });
}

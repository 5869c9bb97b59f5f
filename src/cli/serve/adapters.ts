import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Agents } from "../../agent/agent.ts";
import { openAgents } from "../../agent/open.ts";
import { inheritedEnvironment } from "../../agent/process/environment.ts";
import { adHocProfile } from "../../agent/profile/command-line.ts";
import type { AgentProfile } from "../../agent/profile/profile.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { LocalShell } from "../../session/side/local-shell.ts";
import type { ShellRunner } from "../../session/side/shell-runner.ts";
import { guardSecrets, type SecretGuard, type SessionStore } from "../../store/index.ts";
import { withLocator } from "../../store/located.ts";
import { SessionLocator } from "../../store/locator.ts";
import { memoryStore } from "../../store/memory/store.ts";
import { activateStore } from "../../store/roster.ts";
import { sqliteStore } from "../../store/sqlite/store.ts";
import { agentProfiles, homeOf } from "../home.ts";
import type { ServerLog } from "./log.ts";
import type { Chosen } from "./options.ts";

/** Where this server keeps what it has to remember. */
export function dataFolder({ data }: Chosen, env: NodeJS.ProcessEnv): string {
  return data ?? homeOf(env);
}

/** The chosen store, behind the guard that keeps secrets out of it. */
export async function openStore(
  chosen: Chosen,
  folder: string,
  guard: SecretGuard,
  { log }: ServerLog,
): Promise<Result<SessionStore>> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return fail("invalid_server_config", { path: folder, reason });
  }
  const isSqlite = chosen.store === "sqlite";
  const place = { path: join(folder, "sessions"), durability: chosen.durability };
  const candidate = isSqlite
    ? { store: sqliteStore(), config: { active: true, ...place } }
    : { store: memoryStore(), config: { active: true } };
  const host = {
    persistenceSurface: { announce: () => {} },
    env: { get: () => undefined },
    audit: ({ act }: { readonly act: string }) => log("store", { act }),
  };
  const opened = await activateStore([candidate], host, (storeId, why) => {
    log("store not loaded", { storeId, because: why.code });
  });
  if (!opened.ok) return opened;
  const located = withLocator(opened.value, new SessionLocator(join(folder, "located")));
  return ok(guardSecrets(located, guard));
}

export interface OpenedHands {
  readonly agents: Agents;
  readonly shell: ShellRunner;
}

export interface ChosenAgents {
  readonly profiles: ReadonlyMap<string, AgentProfile>;
  readonly defaultAgent: string;
}

/** Which agents there are, and which is meant where none is named. */
export async function chooseAgents(chosen: Chosen): Promise<Result<ChosenAgents>> {
  const known = await agentProfiles(homeOf(process.env));
  if (!known.ok) return known;
  const picked = pickAgent(chosen, known.value);
  if (!picked.ok) return picked;
  const { name: defaultAgent, own } = picked.value;
  const all = [...known.value, ...own].map(
    ([name, one]) => [name, withTimes(one, chosen)] as const,
  );
  return ok({ profiles: new Map(all), defaultAgent });
}

/** Agents and shell, with whatever an earlier server left of them ended first (P5). */
export async function openHands(
  profiles: ReadonlyMap<string, AgentProfile>,
  folder: string,
  guard: SecretGuard,
  { log }: ServerLog,
): Promise<OpenedHands> {
  const { agents, orphans, commandMarks } = await openAgents({
    folder,
    profiles,
    env: process.env,
    memoryBytesMax: null,
    watch: {
      fault: (kind, count, sample) => log("agent fault", { kind, count, sample }),
      secret: (value) => guard.know(value),
    },
  });
  if (orphans.ended > 0) log("orphans ended", { count: orphans.ended });
  const shell = new LocalShell(inheritedEnvironment(process.env), commandMarks);
  return { agents, shell };
}

/** The one that was named, or was given as a command, or else the one that is always there. */
function pickAgent(
  { agent, "agent-command": command }: Chosen,
  known: ReadonlyMap<string, AgentProfile>,
): Result<{ readonly name: string; readonly own: readonly [string, AgentProfile][] }> {
  if (agent !== null && command !== null) {
    const reason = "an agent is given by name or by command, and not by both";
    return fail("invalid_server_config", { path: "--agent-command", reason });
  }
  if (command !== null) {
    const profile = adHocProfile(command);
    if (!profile.ok) return profile;
    return ok({ name: profile.value.name, own: [[profile.value.name, profile.value]] });
  }
  const name = agent ?? "echo";
  if (known.has(name)) return ok({ name, own: [] });
  return fail("agent_unknown", { profile: name, known: [...known.keys()].join(", ") });
}

/** Times that were chosen for all agents count for each. */
function withTimes(profile: AgentProfile, chosen: Chosen): AgentProfile {
  const callMs = chosen["initialize-timeout-ms"];
  const restoreMs = chosen["session-restore-timeout-ms"];
  const idleMs = chosen["channel-idle-timeout-ms"];
  const limits = {
    ...profile.limits,
    ...(callMs !== null && { callMs, startMs: callMs }),
    ...(restoreMs !== null && { restoreMs }),
    ...(idleMs !== null && { idleMs }),
  };
  return { ...profile, limits };
}

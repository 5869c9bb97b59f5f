import { environmentOf } from "../../agent/process/environment.ts";
import { commandOf, detect } from "../../agent/process/spawn.ts";
import { adHocProfile, withVariables } from "../../agent/profile/command-line.ts";
import type { AgentProfile } from "../../agent/profile/profile.ts";
import { unknownAgent } from "../../core/agent-name.ts";
import { sentenceOf } from "../../core/error.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { agentProfiles, homeOf } from "../home.ts";
import type { ServeOptions } from "./options.ts";

/** All agent profiles, and the name of the agent for sessions that name none. */
export async function readAgentProfiles(options: ServeOptions): Promise<
  Result<{
    readonly profiles: ReadonlyMap<string, AgentProfile>;
    readonly defaultAgent: string;
  }>
> {
  const known = await agentProfiles(homeOf(process.env));
  if (!known.ok) return known;
  const picked = pickAgent(options, known.value);
  if (!picked.ok) return picked;
  const { name: defaultAgent, own } = picked.value;
  const all = [...known.value, ...own].map(
    ([name, one]) => [name, withTimeouts(one, options)] as const,
  );
  return ok({ profiles: new Map(all), defaultAgent });
}

/** The agent of --agent or --agent-command, else `echo`, which is always installed. */
function pickAgent(
  options: Pick<ServeOptions, "agent" | "agent-command" | "agent-name" | "agent-env">,
  known: ReadonlyMap<string, AgentProfile>,
): Result<{ readonly name: string; readonly own: readonly [string, AgentProfile][] }> {
  const { agent, "agent-command": command, "agent-name": chosen, "agent-env": inherit } = options;
  const wrong = (path: string, reason: string) => fail("invalid_server_config", { path, reason });
  if (agent !== null && command !== null) {
    return wrong("--agent-command", "give --agent or --agent-command, not both");
  }
  if (chosen !== null && command === null) {
    return wrong("--agent-name", "it names the agent of --agent-command, which is missing");
  }
  const name = agent ?? "echo";
  const profile = known.get(name);
  if (command === null && profile === undefined) {
    return unknownAgent(name, known.keys());
  }
  const picked =
    command === null && profile !== undefined
      ? withVariables(profile, inherit)
      : adHocProfile(command ?? "", { inherit, name: chosen });
  return picked.ok
    ? ok({ name: picked.value.name, own: [[picked.value.name, picked.value]] })
    : picked;
}

/** What people should know of the agent of a server that has started; null if nothing. */
export async function agentNote(
  options: ServeOptions,
  env: NodeJS.ProcessEnv,
): Promise<string | null> {
  const read = await readAgentProfiles(options);
  if (!read.ok) return null;
  const { profiles, defaultAgent } = read.value;
  if (defaultAgent === "echo" && options.agent === null) {
    const all = await detect(profiles.values(), env);
    const others = all.filter(({ profile, path }) => path !== null && profile.name !== "echo");
    const names = others.map(({ profile }) => profile.name);
    const more = names.length === 0 ? "see: fermata agents" : `installed: ${names.join(", ")}`;
    return `echo repeats each prompt; for another agent use --agent NAME (${more})`;
  }
  const profile = profiles.get(defaultAgent);
  if (profile === undefined) return null;
  const found = await commandOf(profile, environmentOf(profile, env, "").env);
  return found.ok ? null : `No session can start yet. ${sentenceOf(found.refusal)}`;
}

/** The time limits of the command line override those of each profile. */
function withTimeouts(profile: AgentProfile, options: ServeOptions): AgentProfile {
  const callMs = options["initialize-timeout-ms"];
  const restoreMs = options["session-restore-timeout-ms"];
  const idleMs = options["channel-idle-timeout-ms"];
  const limits = {
    ...profile.limits,
    ...(callMs !== null && { callMs, startMs: callMs }),
    ...(restoreMs !== null && { restoreMs }),
    ...(idleMs !== null && { idleMs }),
  };
  return { ...profile, limits };
}

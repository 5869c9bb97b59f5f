import { environmentOf } from "../../agent/process/environment.ts";
import { commandOf, detect } from "../../agent/process/spawn.ts";
import { sentenceOf } from "../../core/error.ts";
import { readAgentProfiles } from "./agents.ts";
import type { ServeOptions } from "./options.ts";

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
  return found.ok ? null : `${sentenceOf(found.refusal)} Sessions with it are refused until then.`;
}

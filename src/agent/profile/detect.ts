import { findCommand } from "../process/command.ts";
import type { AgentProfile } from "./profile.ts";

export interface Detected {
  readonly profile: AgentProfile;
  /** The file that would be run; null if there is none, or it is not for us to run. */
  readonly path: string | null;
}

/** Which agents are installed, without running any of them. */
export function detect(
  profiles: Iterable<AgentProfile>,
  env: NodeJS.ProcessEnv,
): Promise<readonly Detected[]> {
  const found = [...profiles].map(async (profile) => {
    // The profile may set a PATH of its own, and then that is where it will be looked for.
    const path = profile.env.PATH;
    const searched = typeof path === "string" ? path : env[path?.from ?? "PATH"];
    const command = await findCommand(profile.command, searched);
    return { profile, path: command.kind === "found" ? command.path : null };
  });
  return Promise.all(found);
}

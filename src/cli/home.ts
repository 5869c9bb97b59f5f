import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { withOwnProfiles } from "../agent/profile/known.ts";
import type { AgentProfile } from "../agent/profile/profile.ts";
import { readProfiles } from "../agent/profile/read.ts";
import { fail, ok, type Result } from "../core/result.ts";

/** Where Fermata keeps what belongs to this user: `~/.fermata`, or wherever FERMATA_HOME says. */
export function homeOf(env: NodeJS.ProcessEnv): string {
  return env.FERMATA_HOME || join(homedir(), ".fermata");
}

/** All agents by name: the known ones, and the user's own in `agents.json`. */
export async function agentProfiles(
  home: string,
): Promise<Result<ReadonlyMap<string, AgentProfile>>> {
  const file = join(home, "agents.json");
  const text = await readOr(file, "{}");
  let config: unknown;
  try {
    config = JSON.parse(text);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return fail("invalid_agent_profile", { profile: "all", path: file, reason });
  }
  const own = readProfiles(config);
  return own.ok ? ok(withOwnProfiles(own.value)) : own;
}

async function readOr(file: string, missing: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (thrown) {
    if (thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT") return missing;
    throw thrown;
  }
}

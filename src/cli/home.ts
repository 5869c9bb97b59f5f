import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { withOwnProfiles } from "../agent/profile/known.ts";
import type { AgentProfile } from "../agent/profile/profile.ts";
import { fail, ok, type Result } from "../core/result.ts";
import { fileFault } from "../platform/file-fault.ts";
import { parseJson } from "../wire/operator-json.ts";

/** The folder with the operator's files: `~/.fermata`, or FERMATA_HOME. */
export function homeOf(env: NodeJS.ProcessEnv): string {
  return env.FERMATA_HOME || join(homedir(), ".fermata");
}

/** All agents by name: the known ones, and the operator's own in `agents.json`. */
export async function agentProfiles(
  home: string,
): Promise<Result<ReadonlyMap<string, AgentProfile>>> {
  const path = join(home, "agents.json");
  const wrong = (reason: string) => fail("invalid_agent_profile", { profile: "all", path, reason });
  let text = "";
  try {
    text = await readFile(path, "utf8");
  } catch (thrown) {
    return isMissingFile(thrown) ? ok(withOwnProfiles(new Map())) : wrong(fileFault(thrown));
  }
  const { value: config, fault } = parseJson(text);
  if (fault !== undefined) return wrong(fault);
  // What checks profiles is loaded where there are some to check.
  const { readProfiles } = await import("../agent/profile/read.ts");
  const own = readProfiles(config);
  return own.ok ? ok(withOwnProfiles(own.value)) : own;
}

export function isMissingFile(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT";
}

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import { fail, ok, type Result } from "../../core/result.ts";
import { spawnAs } from "../../platform/spawn-as.ts";
import { type AgentProfile, userOf } from "../profile/profile.ts";
import { causeOf } from "../system-error.ts";
import { environmentOf } from "./environment.ts";

/** Finds the file of a profile's command in this environment. */
export async function commandOf(
  profile: AgentProfile,
  env: Readonly<Record<string, string>>,
): Promise<Result<string>> {
  const found = await findCommand(profile.command, env.PATH);
  if (found.kind === "found") return ok(found.path);
  if (found.kind === "forbidden") return forbidden(profile, found.reason);
  const { name, command, install } = profile;
  const advice =
    install === null
      ? "Install it, or correct the profile; the server looks in its own PATH."
      : `To install it: ${install}`;
  return fail("agent_command_missing", { profile: name, command, advice });
}

/** Checked first, because the system has one error for a missing directory or command. */
export async function checkDirectory(path: string): Promise<Result<string>> {
  try {
    if ((await stat(path)).isDirectory()) return ok(path);
    return fail("file_unavailable", { path, reason: "it is not a directory" });
  } catch (thrown) {
    const isMissing = causeOf(thrown) === "ENOENT";
    const reason = isMissing ? "there is no such directory" : causeOf(thrown);
    return fail("file_unavailable", { path, reason });
  }
}

export interface Spawned {
  readonly child: ChildProcessWithoutNullStreams;
  readonly pid: number;
}

/**
 * Starts an agent without a shell, as leader of its own process group and session: so it can be
 * killed with all that it starts, and Ctrl-C in the server's terminal does not reach it.
 */
export async function spawnAgent(
  profile: AgentProfile,
  path: string,
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<Result<Spawned>> {
  const command = spawnAs(userOf(profile), { file: path, args: profile.args, cwd, env });
  try {
    const options = { cwd: command.cwd, env: command.env, ...command.identity, detached: true };
    const child = spawn(command.file, command.args, { ...options, stdio: "pipe", shell: false });
    if (child.pid !== undefined) return ok({ child, pid: child.pid });
    const [thrown] = await once(child, "error");
    return refused(profile, thrown);
  } catch (thrown) {
    return refused(profile, thrown); // `spawn` throws some failures, and emits others.
  }
}

function refused(profile: AgentProfile, thrown: unknown): Result<never> {
  const code = causeOf(thrown);
  if (["EAGAIN", "ENOMEM", "EMFILE", "ENFILE"].includes(code)) {
    return fail("agent_capacity", { reason: `the system says ${code}` });
  }
  return forbidden(profile, REASONS[code] ?? code);
}

/** What a system error means for a file that exists and is executable. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "the interpreter that its first line names is missing",
  EACCES: "the system denies access to it, its interpreter or its directory",
  EPERM: "the server may not start it as that user",
  E2BIG: "its arguments and environment are too large",
  ENOEXEC: "it is not a program for this system",
};

function forbidden({ name, command }: AgentProfile, reason: string): Result<never> {
  return fail("agent_command_forbidden", { profile: name, command, reason });
}

export type FoundCommand =
  | { readonly kind: "found"; readonly path: string }
  | { readonly kind: "forbidden"; readonly path: string; readonly reason: string }
  | { readonly kind: "missing" };

/**
 * Finds the file of a command. The system would search from the agent's directory, where a
 * relative entry of the PATH finds files of the workspace; so only absolute entries count here.
 */
export async function findCommand(
  command: string,
  path: string | undefined,
): Promise<FoundCommand> {
  const candidates = command.includes("/")
    ? [command]
    : (path ?? "").split(delimiter).map((folder) => join(folder, command));
  let forbidden: FoundCommand = { kind: "missing" };
  for (const candidate of candidates.filter(isAbsolute)) {
    const found = await look(candidate);
    if (found.kind === "found") return found;
    if (found.kind === "forbidden" && forbidden.kind === "missing") forbidden = found;
  }
  return forbidden;
}

async function look(path: string): Promise<FoundCommand> {
  try {
    if (!(await stat(path)).isFile()) return { kind: "forbidden", path, reason: "it is no file" };
  } catch (thrown) {
    if (causeOf(thrown) !== "EACCES") return { kind: "missing" };
    return { kind: "forbidden", path, reason: "its folder may not be entered" };
  }
  try {
    await access(path, constants.X_OK);
    return { kind: "found", path };
  } catch {
    return { kind: "forbidden", path, reason: "it is not executable" };
  }
}

export interface Detected {
  readonly profile: AgentProfile;
  /** The file that would be run; null if there is none, or the server may not run it. */
  readonly path: string | null;
}

/** Finds which agents are installed, without running any of them. */
export function detect(
  profiles: Iterable<AgentProfile>,
  env: NodeJS.ProcessEnv,
): Promise<readonly Detected[]> {
  const found = [...profiles].map(async (profile) => {
    // A profile may set a PATH of its own, which is then the one to search.
    const searched = environmentOf(profile, env, "").env.PATH;
    const command = await findCommand(profile.command, searched);
    return { profile, path: command.kind === "found" ? command.path : null };
  });
  return Promise.all(found);
}

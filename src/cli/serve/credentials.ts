import { mkdir, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { AgentHomes } from "../../agent/credential/agent-homes.ts";
import { Credentials } from "../../agent/credential/credentials.ts";
import { SecretFiles } from "../../agent/credential/secret-files.ts";
import { RetiredSecrets, SecretWatch } from "../../agent/credential/secret-watch.ts";
import { environmentOf } from "../../agent/process/environment.ts";
import { type AgentProfile, askingProfile } from "../../agent/profile/profile.ts";
import type { AgentUsers } from "../../agent/user/users.ts";
import { SECRET_FILES_MAX } from "../../core/limits.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import type { SecretGuard } from "../../store/index.ts";
import { messageOf } from "../home.ts";
import type { ServerLog } from "./log.ts";
import type { ServeOptions } from "./options.ts";

/** The secrets that agents may get, which the guard knows from the start and on change (P11). */
export interface OpenSecrets {
  /** Null without `--secrets-dir`. */
  readonly files: SecretFiles | null;
  /** An agent process is gone that was given this known value. */
  retire(value: string): void;
  /** Ends the watch over the folder. */
  end(): Promise<void>;
}

/** Tells the guard of all secrets of profiles and of the folder, and watches the folder. */
export async function openSecrets(
  { "secrets-dir": folder }: Pick<ServeOptions, "secrets-dir">,
  profiles: ReadonlyMap<string, AgentProfile>,
  env: NodeJS.ProcessEnv,
  guard: SecretGuard,
  { log }: ServerLog,
): Promise<Result<OpenSecrets>> {
  const warn = (path: string, reason: string) => log("secret needs attention", { path, reason });
  for (const profile of profiles.values()) {
    for (const secret of environmentOf(askingProfile(profile), env, "").secrets) {
      const known = guard.know(secret);
      if (!known.ok) warn(`environment of ${profile.name}`, String(known.refusal.details.reason));
    }
  }
  const retired = new RetiredSecrets((value) => guard.forget(value));
  const retire = (value: string) => retired.add(value);
  if (folder === null) return ok({ files: null, retire, end: async () => {} });
  const wrong = (reason: string) =>
    fail("invalid_server_config", { path: "--secrets-dir", reason });
  const found = await stat(folder).catch(() => null);
  if (!found?.isDirectory()) return wrong(`there is no directory "${folder}"`);
  const files = new SecretFiles(resolve(folder));
  const watch = new SecretWatch({
    files,
    know: (value) => guard.know(value),
    retire,
    warn,
  });
  if (await watch.start()) return ok({ files, retire, end: () => watch.end() });
  await watch.end();
  return wrong(`it has more than ${SECRET_FILES_MAX} files, and all of them have to be known`);
}

/** Makes the folder of homes if there is none. */
export async function prepareHomes({ "agent-homes": folder }: ServeOptions): Promise<Result<void>> {
  if (folder === null) return DONE;
  try {
    await mkdir(folder, { recursive: true, mode: 0o711 });
    return DONE;
  } catch (thrown) {
    const reason = messageOf(thrown);
    return fail("invalid_server_config", { path: "--agent-homes", reason });
  }
}

/** Users have homes of their own only where the server knows its users. */
export function credentialsOf(
  { "agent-homes": homes }: ServeOptions,
  { files }: OpenSecrets,
  env: NodeJS.ProcessEnv,
  needsToken: boolean,
  users: AgentUsers,
): Credentials {
  const ofUsers = homes !== null && needsToken ? new AgentHomes(resolve(homes), users) : null;
  return new Credentials({ files, homes: ofUsers, env });
}

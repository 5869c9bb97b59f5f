import type { Stats } from "node:fs";
import { chmod, chown, lstat, mkdir, readdir, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import type { TenantId } from "../../core/id.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { caseSafe } from "../../platform/case-safe.ts";
import { type AgentProfile, userOf } from "../profile/profile.ts";
import { causeOf } from "../system-error.ts";
import { AgentUsers } from "../user/users.ts";
import type { CredentialHolder } from "./secret-files.ts";

/** No id begins so: the home of sessions that no user made, such as those of the operator. */
const OF_THE_TENANT = "+tenant";

/**
 * The homes of agents, one for each tenant, user and profile: `<tenant>/<user>/<profile>`. An agent
 * keeps its log-ins, settings and sessions there, so that two users never share them.
 */
export class AgentHomes {
  readonly #root: string;
  readonly #users: AgentUsers;

  constructor(root: string, users = new AgentUsers()) {
    this.#root = root;
    this.#users = users;
  }

  /** The home, which is made if there is none. Only its owner may enter it. */
  async of(profile: AgentProfile, { tenantId, userId }: CredentialHolder): Promise<Result<string>> {
    const user = userId === null ? OF_THE_TENANT : caseSafe(userId);
    const name = join(caseSafe(tenantId), user, profile.name);
    const path = join(this.#root, name);
    const unusable = (reason: string) =>
      fail("agent_home_unusable", { profile: profile.name, path: name, reason });
    try {
      // What is made and given away below a link would be elsewhere.
      for (const folder of [join(path, "..", ".."), join(path, "..")]) {
        await mkdir(folder, { mode: MAY_PASS }).catch(unlessExists);
        if (!(await isOwnFolder(folder))) return unusable(`${NOT_OWN}: ${folder}`);
      }
      await mkdir(path, { mode: OWNER_ONLY }).catch(unlessExists);
      const stats = await lstat(path);
      if (!stats.isDirectory()) return unusable("it is not a folder");
      // The umask may have taken more, and an operator who made it may have left it open.
      if ((stats.mode & 0o777) !== OWNER_ONLY) await chmod(path, OWNER_ONLY);
      const { uid, gid } = { ...stats, ...ownerOf(profile) };
      if (stats.uid !== uid || stats.gid !== gid) await chown(path, uid, gid);
      return ok(path);
    } catch (thrown) {
      return unusable(`the system says ${causeOf(thrown)}`);
    }
  }

  /**
   * Removes all homes of a tenant. An agent could replace a folder by a link while the server
   * removes what is in it, so each home of another user is emptied with the rights of that user.
   * False if something is left: what that user could not remove of its own home.
   */
  async remove(tenantId: TenantId): Promise<boolean> {
    const tenant = join(this.#root, caseSafe(tenantId));
    if (!(await isOwnFolder(tenant))) return (await statsOf(tenant)) === null;
    for (const user of await namesIn(tenant)) {
      const folder = join(tenant, user);
      if (!(await isOwnFolder(folder))) continue;
      for (const profile of await namesIn(folder)) await this.#removeHome(join(folder, profile));
      await rmdir(folder).catch(unlessFull);
    }
    await rmdir(tenant).catch(unlessFull);
    return (await statsOf(tenant)) === null;
  }

  async #removeHome(home: string): Promise<void> {
    const stats = await statsOf(home);
    if (stats === null) return;
    const isOthers = stats.isDirectory() && stats.uid !== process.getuid?.();
    if (!isOthers) return rm(home, { recursive: true, force: true });
    await this.#users.empty(stats.uid, home);
    await rmdir(home).catch(unlessFull);
  }
}

function statsOf(path: string): Promise<Stats | null> {
  return lstat(path).catch(() => null);
}

/** Whether it is a folder that only the server's user can have made; a link is none. */
async function isOwnFolder(path: string): Promise<boolean> {
  const stats = await statsOf(path);
  return stats?.isDirectory() === true && stats.uid === (process.getuid?.() ?? stats.uid);
}

/** An agent of another user has to pass the folders above its home, and must not list them. */
const MAY_PASS = 0o711;
const OWNER_ONLY = 0o700;
const NOT_OWN = "a folder above it is a link, or is not the server's";

/** The ids of the agent's user; those that it has not are not in here. */
function ownerOf(profile: AgentProfile): { readonly uid?: number; readonly gid?: number } {
  const { uid = null, gid = null } = userOf(profile) ?? {};
  return { ...(uid === null ? {} : { uid }), ...(gid === null ? {} : { gid }) };
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}

/** What an agent's user could not remove of its own home stays, with the folders above it. */
function unlessFull(thrown: unknown) {
  if (!/^(?:ENOTEMPTY|EEXIST|ENOENT)$/.test(causeOf(thrown))) throw thrown;
}

function unlessExists(thrown: unknown) {
  if (causeOf(thrown) !== "EEXIST") throw thrown;
}

import { DONE, fail, type Result } from "../../core/result.ts";
import { OWN_FILES, type WorkspaceFiles } from "../workspace/files.ts";
import type { AccessFault, FileIdentity } from "./access.ts";
import type { SystemUser } from "./account.ts";
import { UserFiles } from "./user-files.ts";

/**
 * The users of the system under which agents, their tools and shells run, and a process for each
 * that uses files with the rights of that user.
 */
export class AgentUsers {
  /** That of shells, of tools, and of agents whose profile names none; null is the server's own. */
  readonly account: SystemUser | null;
  readonly #files = new Map<string, UserFiles>();

  constructor(account: SystemUser | null = null) {
    this.account = account;
  }

  /** Null is the server's own user. */
  filesOf(account: SystemUser | null): WorkspaceFiles {
    return account === null ? OWN_FILES : this.userFilesOf(account);
  }

  userFilesOf(account: SystemUser): UserFiles {
    const key = `${account.uid}:${account.gid}`;
    const files = this.#files.get(key) ?? new UserFiles(account);
    this.#files.set(key, files);
    return files;
  }

  /** Refuses a workspace in which the user cannot work, with the command that mends it. */
  async checkWorkspace(account: SystemUser | null, workspace: string): Promise<Result<void>> {
    if (account === null) return DONE;
    const found = await this.userFilesOf(account).workspaceAccess(workspace);
    if (!found.ok) return found;
    const { fault } = found.value;
    return fault === null ? DONE : accessRefusal(account, fault);
  }

  /** Which file this user gets at a real path; null if it may not read it. */
  async fileFor(account: SystemUser, real: string): Promise<FileIdentity | null> {
    const found = await this.userFilesOf(account).identify(real);
    return found.ok ? found.value : null;
  }

  /** Removes all that is in a folder of another user, as that user. Root is never become. */
  async empty(uid: number, folder: string): Promise<void> {
    if (uid === 0) return;
    const known = [...this.#files.values()].find(({ account }) => account.uid === uid);
    await (known ?? this.userFilesOf(formerAccount(uid))).empty(folder);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#files.values()].map((files) => files.close()));
  }
}

/** One that no agent has any more: it owns its files still, and needs no group for that. */
function formerAccount(uid: number): SystemUser {
  const name = `${uid}:${NO_GROUP}`;
  return { name, uid, gid: NO_GROUP, home: null, shell: "/bin/sh", launcher: [] };
}

/** The system's group of those that have none. */
const NO_GROUP = 65_534;

function accessRefusal({ name }: SystemUser, fault: AccessFault): Result<never> {
  return fail("agent_user_access", { user: name, ...fault });
}

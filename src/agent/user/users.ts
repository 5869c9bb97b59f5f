import { DONE, fail, type Result } from "../../core/result.ts";
import { OWN_FILES, type WorkspaceFiles } from "../workspace/files.ts";
import type { AccessFault } from "./access.ts";
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

  /** Removes all that is in a folder of this user. False if no agent runs as that user. */
  async empty(uid: number, folder: string): Promise<boolean> {
    const theirs = [...this.#files.values()].find(({ account }) => account.uid === uid);
    await theirs?.empty(folder);
    return theirs !== undefined;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#files.values()].map((files) => files.close()));
  }
}

function accessRefusal({ name }: SystemUser, fault: AccessFault): Result<never> {
  return fail("agent_user_access", { user: name, ...fault });
}

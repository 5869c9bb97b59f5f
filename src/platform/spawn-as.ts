/** Whose rights a program gets when it is started. */
export interface SpawnIdentity {
  readonly uid: number | null;
  readonly gid: number | null;
  /**
   * A program, with its arguments, that becomes the user and then runs the command in its own
   * process. It is needed where the server has capabilities that a change of the user alone would
   * leave with the command. Empty where the system changes the user by itself.
   */
  readonly launcher: readonly string[];
}

export interface SpawnCommand {
  readonly file: string;
  readonly args: readonly string[];
  /** For `spawn`: the system also clears the supplementary groups then. */
  readonly identity: { readonly uid?: number; readonly gid?: number };
}

/** How a command is spawned with these rights; null is the server's own user. */
export function spawnAs(
  user: SpawnIdentity | null,
  file: string,
  args: readonly string[],
): SpawnCommand {
  if (user === null) return { file, args, identity: {} };
  const [launcher, ...words] = user.launcher;
  if (launcher !== undefined)
    return { file: launcher, args: [...words, file, ...args], identity: {} };
  const { uid, gid } = user;
  return {
    file,
    args,
    identity: { ...(uid === null ? {} : { uid }), ...(gid === null ? {} : { gid }) },
  };
}

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

/** A program to run, and the folder that it runs in. */
interface SpawnedProgram {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
}

export interface SpawnCommand extends SpawnedProgram {
  /** For `spawn`: the system also clears the supplementary groups then. */
  readonly identity: { readonly uid?: number; readonly gid?: number };
}

/**
 * How a program is spawned with these rights; null is the server's own user. `spawn` enters the
 * folder before it changes the user, so with the server's rights: a link in place of a workspace
 * would lead another user to where it may not go. So that user enters its folder itself.
 */
export function spawnAs(user: SpawnIdentity | null, program: SpawnedProgram): SpawnCommand {
  if (user === null) return { ...program, identity: {} };
  const { uid, gid, launcher } = user;
  const [file = SHELL, ...args] = [...launcher, SHELL, "-c", ENTER, SHELL, program.cwd];
  const identity = { ...(uid === null ? {} : { uid }), ...(gid === null ? {} : { gid }) };
  return {
    file,
    args: [...args, program.file, ...program.args],
    cwd: "/",
    identity: launcher.length > 0 ? {} : identity,
  };
}

const SHELL = "/bin/sh";

/** Then the program takes the place of the shell, in the same process. */
const ENTER = 'cd -- "$1" && shift && unset OLDPWD && exec "$@"';

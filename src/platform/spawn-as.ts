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
  readonly env: Readonly<Record<string, string>>;
}

export interface SpawnCommand extends SpawnedProgram {
  /** For `spawn`: the system also clears the supplementary groups then. */
  readonly identity: { readonly uid?: number; readonly gid?: number };
}

/**
 * How a program is spawned with these rights; null is the server's own user. `spawn` enters the
 * folder before it changes the user, so with the server's rights: a link in place of a workspace
 * would lead another user to where it may not go. So that user enters its folder itself.
 *
 * A launcher runs with the server's rights, and agents choose variables of their programs: one
 * like `LD_PRELOAD` would run the agent's code in the launcher. So every variable passes it under
 * a name that means nothing to it, and gets its own name back as soon as the user has changed.
 * Values never are arguments, which all users of the system can read.
 */
export function spawnAs(user: SpawnIdentity | null, program: SpawnedProgram): SpawnCommand {
  if (user === null) return { ...program, identity: {} };
  const { uid, gid, launcher } = user;
  const { env, names } = launcher.length > 0 ? disguised(program.env) : asItIs(program.env);
  const enter = [SHELL, "-c", ENTER, SHELL, ...names, END_OF_NAMES, program.cwd];
  const [file = SHELL, ...args] = [...launcher, ...enter];
  const identity = { ...(uid === null ? {} : { uid }), ...(gid === null ? {} : { gid }) };
  return {
    file,
    args: [...args, program.file, ...program.args],
    cwd: "/",
    env,
    identity: launcher.length > 0 ? {} : identity,
  };
}

const SHELL = "/bin/sh";

const END_OF_NAMES = "--";

const DISGUISE = "FERMATA_AS_";

/**
 * Gives the variables their names back, and enters the folder. Then the program takes the place of
 * the shell, in the same process. It has no variables of its own, which could be a program's.
 */
const ENTER = [
  `while [ "$1" != ${END_OF_NAMES} ]`,
  `do eval "export $1=\\"\\$${DISGUISE}$1\\""`,
  `unset "${DISGUISE}$1"`,
  "shift",
  'done; shift; cd -- "$1" && shift && unset OLDPWD && exec "$@"',
].join("; ");

interface PassedVariables {
  readonly env: Readonly<Record<string, string>>;
  /** The variables that the shell gives their names back. */
  readonly names: readonly string[];
}

function asItIs(env: Readonly<Record<string, string>>): PassedVariables {
  return { env, names: [] };
}

/** Without names that no shell passes on, and those that are disguises themselves. */
function disguised(variables: Readonly<Record<string, string>>): PassedVariables {
  const env: Record<string, string> = {};
  const names: string[] = [];
  for (const [name, value] of Object.entries(variables)) {
    if (!SHELL_NAME.test(name) || name.startsWith(DISGUISE)) continue;
    const isPlain = name.startsWith(OWN_NAMES) || SET_BY_SHELL.has(name);
    env[isPlain ? name : `${DISGUISE}${name}`] = value;
    if (!isPlain) names.push(name);
  }
  return { env, names };
}

/** It is put into a command of the shell. */
const SHELL_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The server finds its programs by its own variables, in a launcher too, which knows none. */
const OWN_NAMES = "FERMATA_";

/** A shell may end where a command sets one of these; a launcher does not know them either. */
const SET_BY_SHELL: ReadonlySet<string> = new Set([
  ...["PPID", "UID", "EUID", "BASHOPTS", "SHELLOPTS"],
]);

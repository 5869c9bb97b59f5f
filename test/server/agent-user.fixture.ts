import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "vitest";
import { type ServeOptions, ServeProcess } from "./serve.fixture.ts";

/** A user that no system has an entry for, so that none has to be created. */
export const UID = 54_321;

const AS_AGENT_USER = ["--agent-user", `${UID}:${UID}`] as const;

/** Only root may start programs as other users; elsewhere these tests count as n/a. */
export function asRoot(title: string, run: () => Promise<void>): void {
  if (process.getuid?.() === 0 && process.platform === "linux") it(title, run, 90_000);
  else it(`${title}: n/a (it needs root on Linux)`, () => {});
}

/** Folders in which the agents' user can do its work, and reach nothing of the server's. */
function separated({ folder, home, workspace }: ServeProcess): void {
  chmodSync(folder, 0o711);
  chmodSync(home, 0o700);
  chownSync(workspace, UID, UID);
  const usersHome = usersHomeOf(folder);
  mkdirSync(usersHome);
  chownSync(usersHome, UID, UID);
}

export function usersHomeOf(folder: string): string {
  return join(folder, "users-home");
}

/** The server's own user, where that is not root. */
export const SERVER_UID = 12_345;

const CAPS = "-all,+setuid,+setgid,+kill";

/** The capabilities that Docker gives by default. */
const CONTAINER = [
  ...["chown", "dac_override", "fowner", "fsetid", "kill", "setgid", "setuid", "setpcap"],
  ...["net_bind_service", "net_raw", "sys_chroot", "audit_write", "setfcap"],
]
  .map((name) => `+${name}`)
  .join(",");

/** Ways to start a server that may have agents of another user, by what it is started as. */
export const LAUNCHERS = {
  root: [],
  /** It may not look into the processes of others. */
  "root of a container": ["setpriv", `--bounding-set=-all,${CONTAINER}`],
  /** As systemd starts a service. */
  "a user with three capabilities": [
    ...["setpriv", `--reuid=${SERVER_UID}`, `--regid=${SERVER_UID}`, "--clear-groups"],
    ...[`--inh-caps=${CAPS}`, `--ambient-caps=${CAPS}`, `--bounding-set=${CAPS}`],
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** For a server that is not root. */
export function givenToServer({ folder, home }: ServeProcess): void {
  for (const path of [folder, home, join(home, "agents.json")]) {
    chownSync(path, SERVER_UID, SERVER_UID);
  }
}

/** Processes whose command line has these words, by pid. */
export function processesWith(words: string): readonly number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => textOf(`/proc/${pid}/cmdline`).includes(words));
}

export function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // It has ended.
  }
}

/** A server whose agents have a user of their own. */
export async function startSeparated(options: ServeOptions = {}): Promise<ServeProcess> {
  const home: string[] = [];
  return ServeProcess.start({
    ...options,
    get flags() {
      return [...AS_AGENT_USER, "--agent-home", home[0] ?? "", ...(options.flags ?? [])];
    },
    prepare(server) {
      separated(server);
      home.push(usersHomeOf(server.folder));
      writeFileSync(join(server.folder, "of-root.txt"), "OF-ROOT", { mode: 0o600 });
      options.prepare?.(server);
    },
  });
}

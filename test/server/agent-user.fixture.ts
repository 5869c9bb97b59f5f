import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
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

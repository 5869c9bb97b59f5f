import { fileURLToPath } from "node:url";

/** Fermata's own folder: a clone, or where it is installed. */
export const PACKAGE_FOLDER = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

/**
 * Goes to the folder in which `npm start` was typed, so that paths begin there. npm runs it in the
 * clone and says where it was called; the word of another program's npm, which an environment may
 * still have, is not taken.
 */
export function enterCallersFolder(env: NodeJS.ProcessEnv): void {
  const { npm_lifecycle_event: script, INIT_CWD: caller } = env;
  if (script === "start" && caller && process.cwd() === PACKAGE_FOLDER) process.chdir(caller);
}

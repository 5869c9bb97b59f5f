// Runs a program in the place of the one that calls: signals go on to it, and it ends with its
// caller. Plain JavaScript for any Node from 18 on, as all that prepares a clone.

import { spawn } from "node:child_process";
import { once } from "node:events";

/** What asks a program to stop; a terminal that is closed sends the last. */
const STOP_SIGNALS = /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]);

/** As shells report a program that cannot be run. */
const NOT_FOUND_EXIT_CODE = 127;

/** How often is looked whether the process above is still there; no system tells by itself. */
const PARENT_LOOK_MS = 500;

/**
 * @typedef {object} Ended
 * @property {number | null} code null if a signal ended it
 * @property {NodeJS.Signals | null} signal what ended it, if a signal did
 * @property {NodeJS.Signals | null} stopped what asked it to stop, if anything did
 */

/**
 * Runs a program to its end. It is asked to stop when this process is, and when the process above
 * this one is gone: that one was killed, and could not pass anything on.
 * @param {string} command
 * @param {string[]} args
 * @param {import("node:child_process").SpawnOptions} options
 * @returns {Promise<Ended>}
 */
export async function runChild(command, args, options) {
  const parent = process.ppid;
  const child = spawn(command, args, options);
  /** @type {NodeJS.Signals | null} */
  let stopped = null;
  /** @param {NodeJS.Signals} signal */
  const stop = (signal) => {
    stopped = signal;
    child.kill(signal);
  };
  for (const signal of STOP_SIGNALS) process.on(signal, stop);
  const look = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(look);
    stop("SIGTERM");
  }, PARENT_LOOK_MS);
  try {
    const [code, signal] = await once(child, "exit");
    return { code, signal, stopped };
  } catch (error) {
    console.error(`fermata: ${/** @type {Error} */ (error).message}`);
    return { code: NOT_FOUND_EXIT_CODE, signal: null, stopped };
  } finally {
    clearInterval(look);
    for (const signal of STOP_SIGNALS) process.off(signal, stop);
  }
}

/**
 * Ends this process by a signal, as the one who sent that expects; npm says nothing of it then.
 * @param {NodeJS.Signals} signal
 * @returns {Promise<never>}
 */
export function endBy(signal) {
  process.kill(process.pid, signal);
  return new Promise(() => {});
}

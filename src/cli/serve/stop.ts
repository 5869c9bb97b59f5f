import {
  LOG_LAST_MS_MAX,
  SHUTDOWN_DRAIN_MS,
  SIGNAL_ECHO_MS_MAX,
  START_STOP_MS_MAX,
} from "../../core/limits.ts";
import type { Result } from "../../core/result.ts";
import type { RunningServer } from "./assemble.ts";
import { drainTeller, lastWords } from "./farewell.ts";

/** As shells report a process that a signal has ended. */
const STOPPED_EXIT_CODE = 130;

const STOP_SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/** Fires when the program is told to stop, and when it is told again. */
export interface StopSignals {
  readonly first: Promise<void>;
  readonly hurry: AbortSignal;
}

/**
 * The first signal stops the server after its turns, the second without waiting for them, and the
 * third ends the process. The handlers are set before the server starts, so that none is missed.
 */
export function listenForSignals(): StopSignals {
  const first = Promise.withResolvers<void>();
  const hurry = new AbortController();
  let count = 0;
  const stop = () => {
    count += 1;
    if (count === 1) first.resolve();
    else if (count === 2) hurry.abort();
    else process.exit(STOPPED_EXIT_CODE);
  };
  for (const signal of STOP_SIGNALS) process.on(signal, withoutEchoes(stop));
  // A program that started the server with a channel to it, as `npm start` does, was killed.
  process.once("disconnect", stop);
  process.channel?.unref();
  return { first: first.promise, hurry: hurry.signal };
}

/** One Ctrl-C may arrive twice: the terminal sends it to all programs, and npm passes it on. */
export function withoutEchoes(act: () => void, clock = () => performance.now()): () => void {
  let lastMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = clock();
    if (nowMs - lastMs < SIGNAL_ECHO_MS_MAX) return;
    lastMs = nowMs;
    act();
  };
}

/** Ends a server in order, and says meanwhile what it waits for, and then what is kept where. */
export async function stopServer(
  server: RunningServer,
  drainMs: number | null,
  place: string | null,
  hurry: AbortSignal,
): Promise<void> {
  const say = (sentence: string) => process.stdout.write(`fermata: ${sentence}\n`);
  const stopped = await server.stop(hurry, drainTeller(drainMs ?? SHUTDOWN_DRAIN_MS, say));
  lastWords(stopped, place).forEach(say);
  endUnread();
}

/** Node waits for the readers of what was printed, and they may never read again. */
export function endUnread() {
  const isUnread = [process.stdout, process.stderr].some((output) => output.writableLength > 0);
  if (isUnread) setTimeout(() => process.exit(), LOG_LAST_MS_MAX).unref();
}

/**
 * A signal has come before the server was up. A start that ends soon is undone in good order; one
 * that hangs, as on a disk that does not answer, ends with the process, which has served nothing.
 */
export async function stopStarting(
  starting: Promise<Result<RunningServer>>,
  hurry: AbortSignal,
): Promise<number> {
  console.error("fermata: stopped before the server was up");
  // An orderly exit would wait for the call that hangs.
  const endNow = () => process.kill(process.pid, "SIGKILL");
  const hung = setTimeout(endNow, START_STOP_MS_MAX);
  hurry.addEventListener("abort", endNow);
  const started = await starting;
  if (started.ok) await started.value.stop(AbortSignal.abort(), () => {});
  hurry.removeEventListener("abort", endNow);
  clearTimeout(hung);
  return STOPPED_EXIT_CODE;
}

import { SIGNAL_ECHO_MS_MAX } from "../../core/limits.ts";

/** As shells report a process that a signal has ended. */
export const STOPPED_EXIT_CODE = 130;

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
function withoutEchoes(act: () => void): () => void {
  let lastMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = performance.now();
    if (nowMs - lastMs < SIGNAL_ECHO_MS_MAX) return;
    lastMs = nowMs;
    act();
  };
}

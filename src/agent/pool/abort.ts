/** Resolves with null when the signal fires, unless `forget` is called before. */
export function abortOf(signal: AbortSignal) {
  const { promise, resolve } = Promise.withResolvers<null>();
  const abort = () => resolve(null);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  return { promise, forget: () => signal.removeEventListener("abort", abort) };
}

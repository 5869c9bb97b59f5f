import { AsyncLocalStorage } from "node:async_hooks";

/** What belongs to one request, for whatever is done on its behalf. */
interface RequestScope {
  readonly requestId: string;
  /** The row of the table that it is for, once that is known: a path may have secrets in it. */
  route: string;
}

/**
 * Knows on whose behalf something is done, however deep: so that a log can be followed from a
 * request to the events that it led to by one id.
 */
export const requestScope = new AsyncLocalStorage<RequestScope>();

/** A name that a caller gave to its request is kept, if it is one; else it gets one. */
export function requestIdOf(header: string | undefined, fresh: () => string): string {
  return header !== undefined && /^[A-Za-z0-9._:-]{1,128}$/.test(header) ? header : fresh();
}

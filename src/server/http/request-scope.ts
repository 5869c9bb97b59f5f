import { AsyncLocalStorage } from "node:async_hooks";

/** The context of one request. */
interface RequestScope {
  readonly requestId: string;
  /** The route's path, once it is known. The actual path may contain secrets. */
  route: string;
}

/**
 * Carries the request's id through asynchronous calls, so that log lines can be traced to their
 * request.
 */
export const requestScope = new AsyncLocalStorage<RequestScope>();

/** Keeps a valid request id of the client; otherwise makes one. */
export function requestIdOf(header: string | undefined, fresh: () => string): string {
  return header !== undefined && /^[A-Za-z0-9._:-]{1,128}$/.test(header) ? header : fresh();
}

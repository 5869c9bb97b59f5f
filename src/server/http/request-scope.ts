import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingMessage } from "node:http";
import type { Route } from "./route.ts";

/** The context of one request. */
interface RequestScope {
  readonly requestId: string;
  /** The route's path, once it is known. The actual path may contain secrets. */
  route: string;
  /** Keeps the connection open for the answer if the client ends its side. */
  answerHalfClosed(): void;
}

/**
 * Carries the request's id through asynchronous calls, so that log lines can be traced to their
 * request.
 */
export const requestScope = new AsyncLocalStorage<RequestScope>();

/** Notes the route of the current request. */
export function noteRoute({ path, answersHalfClosed }: Pick<Route, "path" | "answersHalfClosed">) {
  const scope = requestScope.getStore();
  if (scope === undefined) return;
  scope.route = path;
  if (answersHalfClosed) scope.answerHalfClosed();
}

/** Keeps a valid request id of the client; otherwise makes one. */
export function requestIdOf(header: string | undefined, fresh: () => string): string {
  return header !== undefined && /^[A-Za-z0-9._:-]{1,128}$/.test(header) ? header : fresh();
}

/** The first value of a header, by its name in lower case; null if absent. */
export function headerOf({ headers }: IncomingMessage, name: string): string | null {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

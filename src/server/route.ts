import type { ClientId, TenantId, UserId } from "../core/id.ts";
import type { JsonObject } from "../core/json.ts";
import type { Permission, Role } from "../core/permission.ts";
import type { Answer } from "./answer.ts";
import type { HonouredFeature } from "./route/features.ts";

/** Those that a web page of an allowed origin may use; see `gate/cors.ts`. */
export type Method = "GET" | "POST" | "PATCH" | "DELETE";

/** Who asks, as far as a token says so. */
export interface Caller {
  readonly tenantId: TenantId;
  /** Null where everybody has the same token, or needs none. */
  readonly userId: UserId | null;
  readonly role: Role;
}

/**
 * Who may come in (wire, 1.3). `open`: anybody, on a loopback bind that does not insist on tokens.
 * `caller`: whoever is authenticated. `strict`: the same, and only where a token is needed at all.
 */
type Gate = "open" | "caller" | "strict";

/**
 * What becomes of `X-Qwen-Client-Id` (wire, 3.2). `registered` and `shape`: a malformed one is
 * refused; the first says besides that the core is asked whether the session knows it. `ignored`:
 * a malformed one counts as none.
 */
export type ClientIdRule = "registered" | "shape" | "ignored";

/** The names after the colons of a path: `"/session/:id"` has `{id: string}`. */
type ParamsOf<Path extends string> = string extends Path
  ? Readonly<Record<string, string>>
  : { readonly [Name in NamesIn<Path>]: string };

type NamesIn<Path extends string> = Path extends `${infer First}/${infer Rest}`
  ? NamesIn<First> | NamesIn<Rest>
  : Path extends `:${infer Name}`
    ? Name
    : never;

/** What a route that needs no caller knows of a request. */
export interface OpenRequest<Params = Readonly<Record<string, string>>> {
  /** Decoded; a session's id is in lower case if it looks like a UUID. */
  readonly params: Params;
  readonly query: URLSearchParams;
  /** The parsed body of a `json` route; what is no JSON object came as an empty one. */
  readonly body: JsonObject;
  /** The body of a `bytes` route as it came. */
  readonly bytes: Uint8Array;
  /** By the route's rule; null is an anonymous client. */
  readonly clientId: ClientId | null;
  /** The header of this name, in lower case; null if there is none. */
  header(name: string): string | null;
  /** Aborted when the client leaves before it has its answer. */
  readonly signal: AbortSignal;
  /** Whether the caller's socket ends on this machine; only `local-only` votes ask. */
  readonly isLoopbackPeer: boolean;
  /** Null is somebody who has not said who they are. */
  readonly caller: Caller | null;
}

export interface ServerRequest<Params = Readonly<Record<string, string>>>
  extends OpenRequest<Params> {
  readonly caller: Caller;
}

interface RouteRow<Path extends string> {
  readonly method: Method;
  /** Segments of plain letters, or `:name`. A route with an alias is a second row. */
  readonly path: Path;
  readonly clientId: ClientIdRule;
  readonly body: "json" | "bytes";
  /** For the rate limiter; without it, reading and changing have their own rates. */
  readonly rate?: "prompt" | "exempt";
  /** It deletes the tenant, and so is not among what is waited for when one is deleted. */
  readonly deletesTenant?: true;
  /** Feature tags beyond the route's own that it keeps the promises of (wire, 2.3). */
  readonly honours?: readonly HonouredFeature[];
}

interface OpenRoute<Path extends string> extends RouteRow<Path> {
  readonly gate: "open";
  /** Nobody has to say who they are. */
  readonly needs: null;
  /** Whether it matters who asks this, for whoever says so. */
  mindsCaller?(query: URLSearchParams): boolean;
  handle(request: OpenRequest<ParamsOf<Path>>): Promise<Answer>;
}

interface CallerRoute<Path extends string> extends RouteRow<Path> {
  readonly gate: Exclude<Gate, "open">;
  /** What the caller's role must allow; null is for whoever has been let in. */
  readonly needs: Permission | null;
  handle(request: ServerRequest<ParamsOf<Path>>): Promise<Answer>;
}

/** One row of the table: which requests it is for, who may send them, and what they come to. */
export type Route<Path extends string = string> = OpenRoute<Path> | CallerRoute<Path>;

/** A row whose handler knows the names in its path. */
export function route<const Path extends string>(row: Route<Path>): Route {
  return row;
}

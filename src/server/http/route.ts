import { type ClientId, parseClientId, type TenantId, type UserId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Permission, Role } from "../../core/permission.ts";
import type { HonouredFeature } from "../route/server-info.ts";
import { type Answer, json } from "./answer.ts";

/** Those that a web page of an allowed origin may use; see `origins.ts`. */
export type Method = "GET" | "POST" | "PATCH" | "DELETE";

/** Who asks, as far as a token says so. */
export interface Caller {
  readonly tenantId: TenantId;
  /** Null where everybody has the same token, or needs none. */
  readonly userId: UserId | null;
  readonly role: Role;
}

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
  /** `ignored` by default. */
  readonly clientId?: ClientIdRule;
  /** `json` by default. */
  readonly body?: "json" | "bytes";
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
  /** `caller` by default. */
  readonly gate?: "caller" | "strict";
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

export type Match =
  | {
      readonly kind: "found";
      readonly route: Route;
      readonly params: Readonly<Record<string, string>>;
    }
  /** The path is known, and the method is none of its. */
  | { readonly kind: "other_method"; readonly allow: string }
  | { readonly kind: "unknown" };

interface TableNode {
  readonly named: Map<string, TableNode>;
  any: TableNode | null;
  readonly routes: Map<string, Route>;
}

/**
 * All routes of a server. A plain word in a path goes before a `:name`, whatever the order of the
 * rows; two rows for the same requests are a mistake that is found when the table is made.
 */
export class RouteTable {
  readonly routes: readonly Route[];
  readonly #root = newPlace();

  constructor(routes: readonly Route[]) {
    this.routes = routes;
    for (const route of routes) this.#add(route);
  }

  /** Which route a request is for. HEAD is answered by the route for GET. */
  match(method: string, segments: readonly string[]): Match {
    const asked = method === "HEAD" ? "GET" : method;
    const places = [...placesAt(this.#root, segments)];
    for (const { routes } of places) {
      const route = routes.get(asked);
      if (route !== undefined) return { kind: "found", route, params: paramsOf(route, segments) };
    }
    const methods = new Set(places.flatMap(({ routes }) => [...routes.keys()]));
    if (methods.size === 0) return { kind: "unknown" };
    return { kind: "other_method", allow: allowed(methods) };
  }

  /** Whether there is a row for such requests, whatever its parameters are called. */
  has(method: Method, path: string): boolean {
    return this.#placeOf(path, stepIn)?.routes.has(method) ?? false;
  }

  #add(route: Route) {
    const place = this.#placeOf(
      route.path,
      (at, segment) => stepIn(at, segment) ?? grow(at, segment),
    );
    const { method, path } = route;
    if (place?.routes.has(method)) throw new Error(`two routes for ${method} ${path}`);
    place?.routes.set(method, route);
  }

  #placeOf(
    path: string,
    step: (place: TableNode, segment: string) => TableNode | null,
  ): TableNode | null {
    let place: TableNode | null = this.#root;
    for (const segment of segmentsOf(path)) place = place === null ? null : step(place, segment);
    return place;
  }
}

/** The parts of a path between its slashes; one slash at the end means nothing. */
function segmentsOf(path: string): readonly string[] {
  const inner = path.replace(/^\//, "").replace(/\/$/, "");
  return inner === "" ? [] : inner.split("/");
}

function newPlace(): TableNode {
  return { named: new Map(), any: null, routes: new Map() };
}

function stepIn(place: TableNode, segment: string): TableNode | null {
  return segment.startsWith(":") ? place.any : (place.named.get(segment) ?? null);
}

function grow(place: TableNode, segment: string): TableNode {
  const next = newPlace();
  if (segment.startsWith(":")) place.any = next;
  else place.named.set(segment, next);
  return next;
}

/** Every place that a path leads to, the more literal ones first. */
function* placesAt(place: TableNode, segments: readonly string[]): Generator<TableNode> {
  const [segment, ...rest] = segments;
  if (segment === undefined) {
    yield place;
    return;
  }
  const named = place.named.get(segment);
  if (named !== undefined) yield* placesAt(named, rest);
  if (place.any !== null && segment !== "") yield* placesAt(place.any, rest);
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

function paramsOf({ path }: Route, segments: readonly string[]): Readonly<Record<string, string>> {
  const named = segmentsOf(path).flatMap((name, index) => {
    const value = segments[index];
    if (!name.startsWith(":") || value === undefined) return [];
    // Upstream's session ids are in lower case, and people copy them from anywhere (wire, 3.1).
    const isSessionId = name === ":id" && UUID.test(value);
    return [[name.slice(1), isSessionId ? value.toLowerCase() : value]];
  });
  return Object.fromEntries(named);
}

function allowed(methods: ReadonlySet<string>): string {
  const head = methods.has("GET") ? ["HEAD"] : [];
  return [...methods, ...head, "OPTIONS"].join(", ");
}

/** Where a request goes, taken apart. */
export interface Target {
  /** Decoded; null if the path is not encoded as it must be. */
  readonly segments: readonly string[] | null;
  readonly query: URLSearchParams;
}

/**
 * Reads the target of a request line. The path is cut before it is decoded, so that an encoded
 * slash belongs to its segment; and dots mean nothing in it, so that it cannot lead elsewhere.
 */
export function readTarget(url: string): Target {
  // Proxies name the whole address; what comes before the path is checked as the Host header.
  const local = url.replace(/^https?:\/\/[^/?#]*/i, "");
  const at = local.indexOf("?");
  const path = at < 0 ? local : local.slice(0, at);
  const query = new URLSearchParams(at < 0 ? "" : local.slice(at + 1));
  return { segments: decoded(segmentsOf(path)), query };
}

function decoded(segments: readonly string[]): readonly string[] | null {
  try {
    return segments.map((segment) => decodeURIComponent(segment));
  } catch {
    return null;
  }
}

/**
 * The same code as for an id that a session does not know, but not the same sentence: this one
 * was never looked for (wire, 3.2).
 */
const MALFORMED = json(400, {
  error: "X-Qwen-Client-Id has 1 to 128 letters, digits and the characters . _ : -",
  code: "invalid_client_id",
});

export type ClientIdReading =
  | { readonly kind: "read"; readonly clientId: ClientId | null }
  | { readonly kind: "refused"; readonly answer: Answer };

/** An absent or empty header is an anonymous client. */
export function readClientId(header: string | null, rule: ClientIdRule): ClientIdReading {
  const clientId = header === null ? null : parseClientId(header);
  const isMalformed = header !== null && header !== "" && clientId === null;
  if (isMalformed && rule !== "ignored") return { kind: "refused", answer: MALFORMED };
  return { kind: "read", clientId };
}

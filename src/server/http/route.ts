import type { z } from "zod";
import { type Refusal, refusal } from "../../core/error.ts";
import { type ClientId, parseClientId, type TenantId, type UserId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Permission, Role } from "../../core/permission.ts";
import { editDistance, nearestName } from "../../core/spelling.ts";
import type { RequestHeader, RouteDescription } from "../openapi/description.ts";
import type { HonouredFeature } from "../route/server-info.ts";
import { type Answer, json, naming, refused } from "./answer.ts";
import type { BodyKind } from "./body.ts";
import { checkFields, fieldsOf } from "./body-fields.ts";

/** The methods that allowed web pages may use; see `origins.ts`. */
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** The authenticated caller of a request. */
export interface Caller {
  readonly tenantId: TenantId;
  /** Null if all callers share one token, or need none. */
  readonly userId: UserId | null;
  readonly role: Role;
}

/**
 * How a route treats `X-Qwen-Client-Id`. `registered` and `shape` refuse a malformed id; with
 * `registered` the session also checks that it knows the client. `ignored` treats a malformed id as
 * none.
 */
export type ClientIdRule = "registered" | "shape" | "ignored";

/** The parameters of a path: `"/session/:id"` has `{id: string}`. */
type ParamsOf<Path extends string> = string extends Path
  ? Readonly<Record<string, string>>
  : { readonly [Name in NamesIn<Path>]: string };

type NamesIn<Path extends string> = Path extends `${infer First}/${infer Rest}`
  ? NamesIn<First> | NamesIn<Rest>
  : Path extends `:${infer Name}`
    ? Name
    : never;

/** A request whose caller may be unknown. */
export interface RouteRequest<Params = Readonly<Record<string, string>>> {
  /** Decoded. A session id that looks like a UUID is in lower case. */
  readonly params: Params;
  readonly query: URLSearchParams;
  /** The parsed body of a `json` route; empty if it was not a JSON object. */
  readonly body: JsonObject;
  /** The raw body of a `bytes` route. */
  readonly bytes: Uint8Array;
  /** Read by the route's rule; null is an anonymous client. */
  readonly clientId: ClientId | null;
  /** The value of a header; null if absent. */
  header(name: RequestHeader): string | null;
  /** Aborted when the client disconnects before it has its answer. */
  readonly signal: AbortSignal;
  /** Whether the client is on this machine; only `local-only` votes need it. */
  readonly isLoopbackPeer: boolean;
  /** Null if the caller is not authenticated. */
  readonly caller: Caller | null;
}

export interface ServerRequest<Params = Readonly<Record<string, string>>>
  extends RouteRequest<Params> {
  readonly caller: Caller;
}

interface RouteRow<Path extends string> {
  readonly method: Method;
  /** Literal segments, or `:name`. An alias is a second row. */
  readonly path: Path;
  /** What the reference says of the route. It is made when the reference is first read. */
  readonly about: () => RouteDescription;
  /** The schema that reads the query. */
  readonly query?: z.ZodType;
  /**
   * The schema of the body, where its unknown fields are not looked at: of what agents get, of
   * votes and of commands.
   */
  readonly content?: z.ZodType;
  /** `ignored` by default. */
  readonly clientId?: ClientIdRule;
  /** A body that is not wanted is not read. By default GET wants none, and other methods JSON. */
  readonly body?: BodyKind;
  /** The rate limiter's tier. By default reads and changes have their own. */
  readonly rate?: "prompt" | "exempt";
  /** A client that has ended its side of the connection after the request still gets the answer. */
  readonly answersHalfClosed?: true;
  /** Web clients have a page at this path: a person who opens it gets that where one is served. */
  readonly yieldsToPage?: true;
  /** The route deletes the tenant, so the deletion does not wait for it. */
  readonly deletesTenant?: true;
  /** Further feature tags that this route implements. */
  readonly honours?: readonly HonouredFeature[];
}

interface OpenRoute<Path extends string> extends RouteRow<Path> {
  readonly gate: "open";
  /** An open route needs no caller. */
  readonly needs: null;
  /**
   * The body has a code that lets its caller in, so the route is open on every server. A wrong code
   * counts as a failed attempt of its address.
   */
  readonly takesCode?: true;
  /** Whether this answer depends on the caller. */
  mindsCaller?(query: URLSearchParams): boolean;
  handle(request: RouteRequest<ParamsOf<Path>>): Promise<Answer>;
}

export interface CallerRoute<Path extends string = string> extends RouteRow<Path> {
  /** `caller` by default. */
  readonly gate?: "caller" | "strict";
  /** The permission that the caller's role needs; null admits every caller. */
  readonly needs: Permission | null;
  /**
   * The schema of the body, where the route creates or sets something. An unknown field that looks
   * like a mistyped one of these is refused; the answer names any other as ignored.
   */
  readonly fields?: z.ZodType;
  handle(request: ServerRequest<ParamsOf<Path>>): Promise<Answer>;
}

/** One row of the table: its requests, who may send them, and their handler. */
export type Route<Path extends string = string> = OpenRoute<Path> | CallerRoute<Path>;

/** What the route wants to have of a body. */
export function bodyKindOf({ body, method }: Route): BodyKind {
  return body ?? (method === "GET" ? "none" : "json");
}

/** Types the handler by the parameters of its path, and has it see only bodies of its fields. */
export function route<const Path extends string>(row: Route<Path>): Route {
  if (row.gate === "open" || row.fields === undefined) return row;
  const fields = fieldsOf(row.fields) ?? new Map();
  const handle: typeof row.handle = async (request) => {
    const ignored = checkFields(fields, request.body);
    if (!ignored.ok) return refused(ignored.refusal);
    return naming(await row.handle(request), ignored.value);
  };
  return { ...row, handle };
}

export type Match =
  | {
      readonly kind: "found";
      readonly route: Route;
      readonly params: Readonly<Record<string, string>>;
    }
  /** The path exists, but not with this method. */
  | { readonly kind: "other_method"; readonly allow: string }
  | { readonly kind: "unknown" };

interface TableNode {
  readonly named: Map<string, TableNode>;
  any: TableNode | null;
  readonly routes: Map<string, Route>;
}

/**
 * All routes of a server. A literal segment precedes a `:name`, in any order of rows. Two rows for
 * the same requests throw when the table is built.
 */
export class RouteTable {
  readonly routes: readonly Route[];
  readonly #root = newNode();

  constructor(routes: readonly Route[]) {
    this.routes = routes;
    for (const route of routes) this.#add(route);
  }

  /** Finds the route of a request. HEAD uses the route of GET. */
  match(method: string, segments: readonly string[]): Match {
    const wanted = method === "HEAD" ? "GET" : method;
    const nodes = [...nodesAt(this.#root, segments)];
    for (const { routes } of nodes) {
      const route = routes.get(wanted);
      if (route !== undefined) return { kind: "found", route, params: paramsOf(route, segments) };
    }
    const methods = new Set(nodes.flatMap(({ routes }) => [...routes.keys()]));
    if (methods.size === 0) return { kind: "unknown" };
    return { kind: "other_method", allow: allowed(methods) };
  }

  /** Whether a row matches, with any parameter names. */
  has(method: Method, path: string): boolean {
    return this.#nodeAt(path, childOf)?.routes.has(method) ?? false;
  }

  /** Says where the routes are written, and which one the request may have meant. */
  notFound(method: string, segments: readonly string[]): Refusal {
    const near = nearestRoute(this.routes, method, segments);
    if (near === null) return refusal("route_not_found", { advice: ALL_ROUTES });
    const didYouMean = `${near.method} ${near.path}`;
    return refusal("route_not_found", {
      advice: `Did you mean ${didYouMean}? ${ALL_ROUTES}`,
      didYouMean,
    });
  }

  #add(route: Route) {
    const node = this.#nodeAt(
      route.path,
      (at, segment) => childOf(at, segment) ?? addChild(at, segment),
    );
    const { method, path } = route;
    if (node?.routes.has(method)) throw new Error(`two routes for ${method} ${path}`);
    node?.routes.set(method, route);
  }

  #nodeAt(
    path: string,
    step: (node: TableNode, segment: string) => TableNode | null,
  ): TableNode | null {
    let node: TableNode | null = this.#root;
    for (const segment of segmentsOf(path)) node = node === null ? null : step(node, segment);
    return node;
  }
}

const ALL_ROUTES =
  "All routes are in docs/protocol.md; GET /capabilities says what this server offers.";

/** The route whose words are nearest, where all are near; of equal ones that of the method. */
function nearestRoute(
  routes: readonly Route[],
  method: string,
  segments: readonly string[],
): Route | null {
  let nearest: Route | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const route of routes) {
    const distance = distanceTo(route, segments) + (route.method === method ? 0 : 0.5);
    if (distance >= least) continue;
    nearest = route;
    least = distance;
  }
  return nearest;
}

function distanceTo({ path }: Route, segments: readonly string[]): number {
  const names = segmentsOf(path);
  if (names.length !== segments.length) return Number.POSITIVE_INFINITY;
  const edits = names.map((name, at) => {
    const given = segments[at] ?? "";
    if (name.startsWith(":") || name === given) return 0;
    return nearestName(given, [name]) === null
      ? Number.POSITIVE_INFINITY
      : editDistance(given, name);
  });
  return edits.reduce((sum, one) => sum + one, 0);
}

/** The segments of a path. A trailing slash means nothing. */
function segmentsOf(path: string): readonly string[] {
  const inner = path.replace(/^\//, "").replace(/\/$/, "");
  return inner === "" ? [] : inner.split("/");
}

function newNode(): TableNode {
  return { named: new Map(), any: null, routes: new Map() };
}

function childOf(node: TableNode, segment: string): TableNode | null {
  return segment.startsWith(":") ? node.any : (node.named.get(segment) ?? null);
}

function addChild(node: TableNode, segment: string): TableNode {
  const next = newNode();
  if (segment.startsWith(":")) node.any = next;
  else node.named.set(segment, next);
  return next;
}

/** All nodes that a path leads to, literal ones first. */
function* nodesAt(node: TableNode, segments: readonly string[]): Generator<TableNode> {
  const [segment, ...rest] = segments;
  if (segment === undefined) {
    yield node;
    return;
  }
  const named = node.named.get(segment);
  if (named !== undefined) yield* nodesAt(named, rest);
  if (node.any !== null && segment !== "") yield* nodesAt(node.any, rest);
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

function paramsOf({ path }: Route, segments: readonly string[]): Readonly<Record<string, string>> {
  const named = segmentsOf(path).flatMap((name, index) => {
    const value = segments[index];
    if (!name.startsWith(":") || value === undefined) return [];
    // Session ids are in lower case, but users copy them in any case.
    const isSessionId = name === ":id" && UUID.test(value);
    return [[name.slice(1), isSessionId ? value.toLowerCase() : value]];
  });
  return Object.fromEntries(named);
}

function allowed(methods: ReadonlySet<string>): string {
  const head = methods.has("GET") ? ["HEAD"] : [];
  return [...methods, ...head, "OPTIONS"].join(", ");
}

/** The parsed target of a request. */
export interface Target {
  /** Decoded; null if the encoding is broken. */
  readonly segments: readonly string[] | null;
  readonly query: URLSearchParams;
}

/**
 * Parses the target of a request line. The path is split before it is decoded, so an encoded slash
 * stays inside its segment. Dots have no meaning, so a path cannot lead elsewhere.
 */
export function readTarget(url: string): Target {
  // Proxies send the whole URL; its host is checked as the Host header.
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

/** The same code as for an unknown id, with another message: this id was never looked up. */
const MALFORMED = json(400, {
  error: "X-Qwen-Client-Id has 1 to 128 letters, digits and the characters . _ : -",
  code: "invalid_client_id",
});

export type ClientIdReading =
  | { readonly kind: "read"; readonly clientId: ClientId | null }
  | { readonly kind: "refused"; readonly answer: Answer };

/** An absent or empty header means an anonymous client. */
export function readClientId(header: string | null, rule: ClientIdRule): ClientIdReading {
  const clientId = header === null ? null : parseClientId(header);
  const isMalformed = header !== null && header !== "" && clientId === null;
  if (isMalformed && rule !== "ignored") return { kind: "refused", answer: MALFORMED };
  return { kind: "read", clientId };
}

/** Whether the route lets a caller in by a code. */
export function takesCode(match: Match): boolean {
  return match.kind === "found" && match.route.gate === "open" && match.route.takesCode === true;
}

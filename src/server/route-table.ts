import type { Method, Route } from "./route.ts";

export type Match =
  | {
      readonly kind: "found";
      readonly route: Route;
      readonly params: Readonly<Record<string, string>>;
    }
  /** The path is known, and the method is none of its. */
  | { readonly kind: "other_method"; readonly allow: string }
  | { readonly kind: "unknown" };

interface Place {
  readonly named: Map<string, Place>;
  any: Place | null;
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

  #placeOf(path: string, step: (place: Place, segment: string) => Place | null): Place | null {
    let place: Place | null = this.#root;
    for (const segment of segmentsOf(path)) place = place === null ? null : step(place, segment);
    return place;
  }
}

/** The parts of a path between its slashes; one slash at the end means nothing. */
export function segmentsOf(path: string): readonly string[] {
  const inner = path.replace(/^\//, "").replace(/\/$/, "");
  return inner === "" ? [] : inner.split("/");
}

function newPlace(): Place {
  return { named: new Map(), any: null, routes: new Map() };
}

function stepIn(place: Place, segment: string): Place | null {
  return segment.startsWith(":") ? place.any : (place.named.get(segment) ?? null);
}

function grow(place: Place, segment: string): Place {
  const next = newPlace();
  if (segment.startsWith(":")) place.any = next;
  else place.named.set(segment, next);
  return next;
}

/** Every place that a path leads to, the more literal ones first. */
function* placesAt(place: Place, segments: readonly string[]): Generator<Place> {
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

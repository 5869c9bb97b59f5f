import { type Refusal, refusal } from "../../core/error.ts";
import { editDistance, nearestName } from "../../core/spelling.ts";
import { type Route, segmentsOf } from "./route.ts";

/** Says where the routes are written, and which one the request may have meant. */
export function routeNotFound(
  routes: readonly Route[],
  method: string,
  segments: readonly string[],
): Refusal {
  const near = nearestRoute(routes, method, segments);
  const list =
    "All routes are in docs/protocol.md; GET /capabilities says what this server offers.";
  const meant = near && `${near.method} ${near.path}`;
  const advice = meant === null ? list : `Did you mean ${meant}? ${list}`;
  return refusal("route_not_found", { advice, ...(meant !== null && { didYouMean: meant }) });
}

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

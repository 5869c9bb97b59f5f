import { type Refusal, refusal } from "./error.ts";
import { nearestName } from "./spelling.ts";

/** Refuses the name of an agent that there is not, with the names that there are. */
export function unknownAgent(
  profile: string,
  names: Iterable<string>,
): { readonly ok: false; readonly refusal: Refusal } {
  const all = [...names];
  const known = all.join(", ");
  const meant = nearestName(profile, all);
  const advice =
    meant === null ? `known are: ${known}` : `did you mean "${meant}"? Known: ${known}`;
  return { ok: false, refusal: refusal("agent_unknown", { profile, known, advice }) };
}

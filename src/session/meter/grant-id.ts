import { parseTurnId, type TurnId } from "../../core/id.ts";
import { fail, ok, type Result } from "../../core/result.ts";

/** What an id of a grant is, in words. */
export const GRANT_ID_RULE = "1 to 128 letters, digits and . _ : -, as in 2026-05";

/** The id of a grant, which stands in the ledger where a turn's does. */
export function readGrantId(id: string): Result<TurnId> {
  const known = parseTurnId(id);
  if (known !== null) return ok(known);
  return fail("invalid_request", { reason: `A grant's id is ${GRANT_ID_RULE}.` });
}

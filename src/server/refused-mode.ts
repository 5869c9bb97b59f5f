import { errorBody, type Refusal } from "../core/error.ts";
import { APPROVAL_MODES } from "../core/policy/risk.ts";
import { type Answer, json, refused } from "./answer.ts";

/** Whoever names an approval mode that does not exist is told those that do (wire, 4.1). */
export function refusedMode(why: Refusal): Answer {
  if (why.code !== "invalid_approval_mode") return refused(why);
  return json(400, { ...errorBody(why), allowed: APPROVAL_MODES });
}

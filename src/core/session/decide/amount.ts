import { type Refusal, refusal } from "../../error.ts";
import { MICRO_CREDITS_MAX } from "../../limits.ts";

export function invalidAmount(): Refusal {
  return refusal("invalid_amount", { limit: MICRO_CREDITS_MAX });
}

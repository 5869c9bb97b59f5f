import type { AskId } from "../id.ts";
import type { JsonObject } from "../json.ts";
import type { Access } from "./access.ts";
import type { Mediation } from "./mediation.ts";
import type { RiskTier } from "./risk.ts";

/** An open permission or question of the agent, as long as people have to answer it. */
export interface Ask {
  readonly requestId: AskId;
  readonly kind: AskKind;
  readonly toolCall: JsonObject;
  readonly options: readonly AskOption[];
  readonly keys: readonly string[];
  /** Keys of what the agent may do for it beside them; they are granted to nobody. */
  readonly covers?: readonly string[];
  readonly tier: RiskTier;
  /** There if the agent did not ask: it wants this done, and the server asks instead. */
  readonly access?: Access;
  readonly mediation: Mediation;
  /** Ballots by voter, one each; only consensus needs more than the first. */
  readonly votes: ReadonlyMap<string, string>;
  readonly askedAtMs: number;
  readonly deadlineAtMs: number | null;
}

export type AskKind = "permission" | "user_question";

/** An option as the agent offered it; further fields pass through. */
export interface AskOption extends JsonObject {
  readonly optionId: string;
}

/** Reserved by the wire for "nobody chose"; an agent that offers it breaks the contract. */
export const CANCEL_SENTINEL = "__cancelled__";

export type AskOutcome =
  | { readonly outcome: "selected"; readonly optionId: string }
  | { readonly outcome: "cancelled" };

export const CANCELLED: AskOutcome = { outcome: "cancelled" };

export function selected(optionId: string): AskOutcome {
  return { outcome: "selected", optionId };
}

/** The first option of this ACP kind (`allow_once`, `reject_once`, …), if one is offered. */
export function optionOfKind(options: readonly AskOption[], kind: string): AskOption | null {
  return options.find((option) => option.kind === kind) ?? null;
}

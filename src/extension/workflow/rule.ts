import { factAt } from "../../core/workflow/render.ts";
import type { PlainData } from "../plain-data.ts";
import type { RuleCondition } from "./declaration.ts";

/** What the rules of a declared workflow look at, by the first word of a path. */
export type RuleFacts = Readonly<Record<string, PlainData>>;

interface ConditionalRule {
  readonly when: RuleCondition;
}

/** The first rule whose conditions are all met; undefined if none is. */
export function firstMet<R extends ConditionalRule>(
  rules: readonly R[],
  facts: RuleFacts,
): R | undefined {
  return rules.find(({ when }) => isMet(when, facts));
}

export function isMet(when: RuleCondition, facts: RuleFacts): boolean {
  return Object.entries(when).every(([path, wanted]) => {
    const found = factAt(facts, path.split(".")) ?? null;
    return valuesOf(wanted).includes(found);
  });
}

/** A condition as people read it; empty if it is always met. */
export function wordsOf(when: RuleCondition): string {
  const parts = Object.entries(when).map(([path, wanted]) => {
    const name = path.replace(/^result\./, "");
    const values = valuesOf(wanted).map(String);
    return path === "outcome" ? values.join(" or ") : `${name} is ${values.join(" or ")}`;
  });
  return parts.join(" and ");
}

/** The values of which a fact must be one. */
export function valuesOf(wanted: RuleCondition[string]): readonly unknown[] {
  return Array.isArray(wanted) ? wanted : [wanted];
}

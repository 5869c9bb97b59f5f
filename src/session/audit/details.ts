import { AUDIT_LISTED_MAX, AUDIT_NAME_CHARS_MAX } from "../../core/limits.ts";
import { cutText } from "../../core/text.ts";

/**
 * What an entry says of its act. Only names, ids, codes and counts, each of them short: what
 * people and agents said, what tools were given and what they gave back, is in the log and is
 * deleted with it, while the audit stays.
 */
export interface Details {
  readonly [name: string]: Detail;
}

type Detail = string | number | boolean | null | readonly Detail[] | Details;

/** Details with every text cut to the length of a name, and what is not there left out. */
export function details(facts: { readonly [name: string]: Detail | undefined }): Details {
  const told: { [name: string]: Detail } = {};
  for (const [name, fact] of Object.entries(facts)) {
    if (fact !== undefined) told[name] = short(fact);
  }
  return told;
}

function short(fact: Detail): Detail {
  return typeof fact === "string" ? cutText(fact, AUDIT_NAME_CHARS_MAX) : fact;
}

/** The first few of a list, and how many there are. */
export function listed(name: string, items: readonly Details[]): Details {
  if (items.length === 0) return {};
  return { [name]: items.slice(0, AUDIT_LISTED_MAX), [`${name}Count`]: items.length };
}

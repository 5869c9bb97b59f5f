import { costMicro, NO_TOKENS, type Price } from "../../core/price.ts";
import { bySpecificity, isPattern, matchesPattern, modelNames } from "./model-name.ts";
import { DEFAULT_PRICES } from "./price-defaults.ts";
import type { PriceFile, PriceRow } from "./price-file.ts";

/** What a turn costs, and what is set aside for it when it begins. */
export interface Quote {
  readonly price: Price;
  readonly estimateMicro: number;
}

/** What an agent calls its models, beside the names that others know: `default`, and the like. */
export type ModelAliases = (agent: string) => ReadonlyMap<string, string>;

/** The row that a model of an agent is paid by. */
export interface FoundPrice extends Quote {
  /** The name in the table, which may be a pattern; with `agents` that of the agent. */
  readonly row: string;
  readonly of: "models" | "agents";
  /** Whether the file of the operator has it. */
  readonly isOwn: boolean;
}

/** What models and agents cost. */
export class PriceTable {
  readonly #models: ReadonlyMap<string, PriceRow>;
  readonly #agents: ReadonlyMap<string, PriceRow>;
  /** The names with a `*`, the closest first. */
  readonly #patterns: readonly string[];
  readonly #own: PriceFile;
  readonly #aliases: ModelAliases;

  constructor(own: PriceFile = {}, aliases: ModelAliases = () => NO_ALIASES) {
    const { models, agents } = own.defaults === false ? {} : DEFAULT_PRICES;
    this.#models = new Map(Object.entries({ ...models, ...own.models }));
    this.#agents = new Map(Object.entries({ ...agents, ...own.agents }));
    this.#patterns = [...this.#models.keys()].filter(isPattern).toSorted(bySpecificity);
    this.#own = own;
    this.#aliases = aliases;
  }

  /** Says from when and where the prices are. */
  get origin(): string {
    const { asOf, source, defaults } = this.#own;
    const own = `your file${asOf === undefined ? "" : ` of ${asOf}`}${source ? `: ${source}` : ""}`;
    const usual = `defaults of ${DEFAULT_PRICES.asOf}: ${DEFAULT_PRICES.source}`;
    if (defaults === false) return own;
    const hasOwn = [this.#own.models, this.#own.agents].some((some) => some !== undefined);
    return hasOwn ? `${own}; ${usual}` : usual;
  }

  quote(agent: string, model: string | null): Quote | null {
    const found = this.find(agent, model);
    return found && { price: found.price, estimateMicro: found.estimateMicro };
  }

  /** Every row, the models first. */
  rows(): readonly FoundPrice[] {
    const models = [...this.#models].map(([row, priced]) => this.#found("models", row, priced));
    const agents = [...this.#agents].map(([row, priced]) => this.#found("agents", row, priced));
    return [...models, ...agents];
  }

  /** By the model's name, by what is inside it, by a pattern, or by the agent; own rows first. */
  find(agent: string, model: string | null): FoundPrice | null {
    const named = model ?? this.#aliases(agent).get(UNNAMED_MODEL) ?? null;
    const row = named === null ? null : this.#rowOf(agent, named);
    const priced = row === null ? this.#agents.get(agent) : this.#models.get(row);
    if (priced === undefined) return null;
    return this.#found(row === null ? "agents" : "models", row ?? agent, priced);
  }

  #found(of: FoundPrice["of"], row: string, priced: PriceRow): FoundPrice {
    const price = priceOf(priced);
    const estimateMicro = Math.max(priced.reserve ?? estimateOf(price), price.perTurn);
    const isOwn = Object.hasOwn(this.#own[of] ?? {}, row);
    return { row, of, isOwn, price, estimateMicro };
  }

  #rowOf(agent: string, model: string): string | null {
    const aliases = this.#aliases(agent);
    const names = modelNames(model).flatMap((one) => {
      const known = aliases.get(one);
      return known === undefined ? [one] : [one, ...modelNames(known)];
    });
    const isOwn = (row: string) => Object.hasOwn(this.#own.models ?? {}, row);
    const exact = names.filter((one) => this.#models.has(one) && !isPattern(one));
    const fits = (pattern: string) => names.some((one) => matchesPattern(pattern, one));
    const found = [...exact, ...this.#patterns.filter(fits)];
    // What the operator wrote comes before the defaults, even a pattern before a whole name.
    return found.find(isOwn) ?? found[0] ?? null;
  }
}

/** The alias for the model of an agent that does not name it. */
const UNNAMED_MODEL = "*";

const NO_ALIASES: ReadonlyMap<string, string> = new Map();

/**
 * What a row does not say is not free: the cache costs as much as input, and thought as much as
 * output. No token is paid for twice by that, since usage tells the five kinds apart.
 */
function priceOf(row: PriceRow): Price {
  const { input = 0, output = 0, perTurn = 0 } = row;
  const { cachedRead = input, cachedWrite = input, thought = output } = row;
  return { input, output, cachedRead, cachedWrite, thought, perTurn };
}

/** A turn as it often is: much is read, little is said. */
const USUAL_TURN = { ...NO_TOKENS, input: 50_000, output: 4_000 };

/** What is set aside for a turn where the price does not say. */
export function estimateOf(price: Price): number {
  return costMicro(price, USUAL_TURN);
}

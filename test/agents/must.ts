/**
 * A check that did not hold. What stands in the matrix is the rule alone, so that every run that
 * sees the same fault writes the same text; what was seen is for who reads the run.
 */
export class Broken extends Error {
  readonly rule: string;

  constructor(rule: string, seen = "") {
    super(seen === "" ? rule : `${rule}: ${seen}`);
    this.rule = rule;
  }
}

const SEEN_CHARS_MAX = 1_200;

export function must(holds: boolean, rule: string, ...seen: readonly unknown[]): asserts holds {
  if (holds) return;
  const words = seen.map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
  throw new Broken(rule, words.join(" ").slice(0, SEEN_CHARS_MAX));
}

/** What comes of it, or a refusal that says what was waited for. */
export async function within<Value>(
  ms: number,
  rule: string,
  promise: Promise<Value>,
  seen: () => string = () => "",
): Promise<Value> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Broken(rule, `not in ${ms} ms; ${seen()}`)), ms);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

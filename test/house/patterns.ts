import { isSafePattern } from "redos-detector";
import type { Sources } from "./imports.ts";
import { nodesIn, programOf } from "./syntax.ts";

/** In how many ways a pattern may read a text before it counts as one that runs away. */
const WAYS_MAX = 100;

/** A pattern that takes longer to judge than this is not simple enough to be sure of. */
const STEPS_MAX = 20_000;

export interface FoundPattern {
  readonly path: string;
  readonly pattern: string;
}

/** The patterns that may cost more than the length of the text they look at. */
export function slowPatterns(sources: Sources): readonly FoundPattern[] {
  return [...sources].flatMap(([path, text]) => {
    if (!text.includes("/")) return [];
    return [...nodesIn(programOf(path, text))].flatMap(({ node }) => {
      if (node.type !== "Literal" || !("regex" in node)) return [];
      const { pattern, flags } = node.regex;
      return isLinear(pattern, flags) ? [] : [{ path, pattern }];
    });
  });
}

function isLinear(pattern: string, flags: string): boolean {
  const { safe } = isSafePattern(pattern, {
    caseInsensitive: flags.includes("i"),
    dotAll: flags.includes("s"),
    multiLine: flags.includes("m"),
    unicode: flags.includes("u"),
    maxScore: WAYS_MAX,
    maxSteps: STEPS_MAX,
    timeout: Number.POSITIVE_INFINITY,
  });
  return safe;
}

/** The files that put patterns together when they run, which no test can judge beforehand. */
export function patternMakers(sources: Sources): readonly string[] {
  const makes = (path: string, text: string) =>
    text.includes("RegExp(") &&
    [...nodesIn(programOf(path, text))].some(({ node }) => {
      const isCall = node.type === "NewExpression" || node.type === "CallExpression";
      return isCall && node.callee.type === "Identifier" && node.callee.name === "RegExp";
    });
  return [...sources].filter(([path, text]) => makes(path, text)).map(([path]) => path);
}

const NAMES_THAT_SAY_NOTHING = new Set([
  "utils",
  "util",
  "helpers",
  "helper",
  "types",
  "common",
  "manager",
  "misc",
]);

/** The patterns are spelled so that this file does not match them itself. */
const UNFINISHED = /\b(?:TO[D]O|FIX[M]E|X[X]X)\b/;
const MACHINE_PATH = /(?<![\w.~-])\/(?:work|farm)\//;
const REGISTRY = [
  /https?:\/\/[\w.-]*(?:registry|artifactory|verdaccio|nexus)\b/i,
  /"resolved": "https?:/,
  /^\s*(?:@[\w-]+:)?registry\s*=/m,
];

/** The parts of a path that are names for a drawer: `store/utils.ts`, `types/a.ts`. */
export function emptyNames(path: string): readonly string[] {
  return path.split("/").filter((part) => {
    return part.split(/[.-]/).some((word) => NAMES_THAT_SAY_NOTHING.has(word.toLowerCase()));
  });
}

export function hasUnfinishedMark(text: string): boolean {
  return UNFINISHED.test(text);
}

/** Whether a text knows the machine it was written on: its folders, or where it gets packages. */
export function namesItsMachine(text: string): boolean {
  return MACHINE_PATH.test(text) || REGISTRY.some((pattern) => pattern.test(text));
}

import { fileURLToPath } from "node:url";

// What a tool call says of itself. Agents name things differently, and none of it is checked.

/** @import { ToolCallFacts } from "fermata/extension" */

/** Values that are looked at in the input of one call. */
const VALUES_MAX = 1_000;

/** Names of fields that agents have paths in. */
const PATH_FIELD = /path|file|folder|dir|dest|source|target|uri|from|to$/i;

/** Lines of patches that name a file: unified ones, those of git, and those of Codex. */
const PATCH_LINES = [
  /^(?:---|\+\+\+) (?:[ab]\/)?(.+?)(?:\t.*)?$/gm,
  /^rename (?:from|to) (.+)$/gm,
  /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$/gm,
];

/**
 * The command that it runs, as one line; null if it runs none.
 *
 * @param {ToolCallFacts} call
 */
export function commandIn({ kind, title, rawInput }) {
  const { command, cmd, args } = Object(rawInput);
  const words = [command ?? cmd ?? [], args ?? []]
    .flat()
    .filter((word) => typeof word === "string");
  if (words.length > 0) return words.join(" ");
  return kind === "execute" ? `${title} ${JSON.stringify(rawInput)}` : null;
}

/**
 * The directory that it works in; null if it does not say.
 *
 * @param {ToolCallFacts} call
 */
export function directoryIn({ rawInput }) {
  const { cwd, workdir, working_directory, directory, dir_path } = Object(rawInput);
  const said = [cwd, workdir, working_directory, directory, dir_path];
  return said.find((one) => typeof one === "string") ?? null;
}

/**
 * All that it may write: the paths it names, those in its input, and those of patches in it.
 *
 * @param {ToolCallFacts} call
 * @returns {readonly string[]}
 */
export function pathsIn({ paths, rawInput }) {
  const found = new Set(paths.map(pathOf));
  const waiting = [{ name: "", value: rawInput }];
  for (let looked = 0; looked < VALUES_MAX; looked += 1) {
    const next = waiting.pop();
    if (next === undefined) break;
    const { name, value } = next;
    if (typeof value === "string") for (const path of pathsOf(name, value)) found.add(pathOf(path));
    else if (Array.isArray(value)) waiting.push(...value.map((inner) => ({ name, value: inner })));
    else
      waiting.push(
        ...Object.entries(value ?? {}).map(([key, inner]) => ({ name: key, value: inner })),
      );
  }
  return [...found];
}

/**
 * @param {string} name
 * @param {string} text
 * @returns {readonly string[]}
 */
function pathsOf(name, text) {
  const named = PATCH_LINES.flatMap((line) => {
    return [...text.matchAll(line)].map(([, path = ""]) => path.trim());
  });
  const isPath =
    PATH_FIELD.test(name) && text !== "" && text.length <= 4_096 && !text.includes("\n");
  return isPath ? [text, ...named] : named;
}

/** @param {string} text */
function pathOf(text) {
  if (!text.startsWith("file:")) return text;
  try {
    return fileURLToPath(text);
  } catch {
    return text;
  }
}

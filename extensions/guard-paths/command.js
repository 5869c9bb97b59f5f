import { homedir } from "node:os";
import { basename, resolve, sep } from "node:path";
import { folded, placeAt, placesAt, relationOf } from "./place.js";

// A command is not understood here: people are asked about it if it names what is guarded, or does
// not say what it names. Who wants to can hide a path all the same, in a script for example.

/** Words of one command that are looked up on the disk. */
const WORDS_MAX = 500;

/** What ends a word of a shell, and what is between an option and a path. */
const BREAK = /[\s;&|<>()'"=:,]+/;

/** What the shell puts something else in place of. */
const OPAQUE = /[$`]|\{[^}]*(?:,|\.\.)[^}]*\}/;

/** The directory that a command begins with, as many agents have it. */
const CHANGE = /^\s*cd\s+([^\s;&|'"\\*?[{]+)\s*(?:&&|;)/;

/**
 * Why people have to be asked about a command; null if they need not be.
 *
 * @param {string} command
 * @param {string} directory
 * @param {readonly { readonly name: string, readonly path: string }[]} guarded
 */
export async function mention(command, directory, guarded) {
  if (OPAQUE.test(command))
    return "it has something in it that its shell replaces, so it does not say what it names";
  const [change = "", inner = "."] = CHANGE.exec(command) ?? [];
  const cwd = resolve(directory, withHome(inner));
  const words = wordsOf(command.slice(change.length));
  if (words.length > WORDS_MAX) return "it has too many words to look them all up";
  const places = await Promise.all(words.map((word) => placesAt(withHome(word), cwd)));
  for (const { name, path } of guarded) {
    const place = await placeAt(path);
    const parts = [path, place?.path ?? path].map((one) => folded(basename(one)));
    const isNamed =
      places.flat().some((one) => relationOf(one, place) !== "apart") ||
      words.some((word) => word.split(sep).some((said) => parts.some((part) => fits(said, part))));
    if (isNamed) return `it names ${name}, which is guarded, or a folder around it`;
  }
  return null;
}

/**
 * Its words as they are, and as they are without quotes and backslashes: `se''cret` is `secret`.
 *
 * @param {string} command
 */
function wordsOf(command) {
  const joined = command.replaceAll(/['"\\]/g, "");
  const words = [command, joined].flatMap((text) => text.split(BREAK));
  // Many options have their path after a letter, such as -ofile.
  const inner = words.flatMap((word) => (/^-[A-Za-z]./.test(word) ? [word.slice(2)] : []));
  return [...new Set([...words, ...inner])].filter((word) => word !== "");
}

/** @param {string} word */
function withHome(word) {
  return word === "~" || word.startsWith(`~${sep}`) ? homedir() + word.slice(1) : word;
}

/**
 * Whether a part of a path may stand for this name, wherever the command is by then. With `*`, `?`
 * and `[` in it, what is around these has to fit.
 *
 * @param {string} part
 * @param {string} name
 */
function fits(part, name) {
  const said = folded(part);
  const wild = said.search(/[*?[]/);
  if (wild < 0) return said === name;
  // What begins with a star is not for names with a dot there.
  if (wild === 0 && name.startsWith(".") && !said.startsWith("[")) return false;
  const [tail = ""] = /[^*?\]]*$/.exec(said) ?? [];
  return name.startsWith(said.slice(0, wild)) && name.endsWith(tail);
}

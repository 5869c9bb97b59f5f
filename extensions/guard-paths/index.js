import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { mention } from "./command.js";
import { placeAt, placesAt, relationOf } from "./place.js";
import { commandIn, directoryIn, pathsIn } from "./tool-call.js";

/** @import { HookVerdict, MakeExtension, ToolCallFacts } from "fermata/extension" */

/**
 * A path that is guarded, and as the operator has written it.
 *
 * @typedef {{ readonly verdict: "deny" | "ask", readonly name: string, readonly path: string }}
 *   GuardedPath
 */

/** What ACP calls a call that changes nothing; what has a command may change anything. */
const HARMLESS = new Set(["read", "search", "think"]);

/** Those that take a whole folder along. */
const WHOLE = new Set(["delete", "move"]);

/**
 * Denies writes to the paths of `deny`, and has people asked about those to the paths of `ask`. Of
 * commands that name any of them people are asked: what a command does with a path cannot be told.
 *
 * @type {MakeExtension}
 */
export default function guardPaths({ config, session }) {
  const { workspaceCwd } = session;
  const guarded = [...listed("deny"), ...listed("ask")];
  if (guarded.length === 0) {
    throw new Error('it guards nothing: name paths in "deny" or "ask" of its configuration');
  }

  /**
   * @param {"deny" | "ask"} verdict
   * @returns {readonly GuardedPath[]}
   */
  function listed(verdict) {
    return textsIn(config[verdict]).map((name) => {
      const inHome = name === "~" || name.startsWith("~/");
      const path = inHome ? join(homedir(), name.slice(1)) : resolve(workspaceCwd, name);
      return { verdict, name, path };
    });
  }

  /**
   * @param {ToolCallFacts} call
   * @returns {Promise<HookVerdict | undefined>}
   */
  async function judge(call) {
    const cwd = resolve(workspaceCwd, directoryIn(call) ?? "");
    const command = commandIn(call);
    const opinions = [
      ...(command === null ? [] : [await commandOpinion(command, cwd)]),
      ...(command === null && HARMLESS.has(call.kind) ? [] : await writeOpinions(call, cwd)),
    ].filter((opinion) => opinion !== null);
    return opinions.find(({ verdict }) => verdict === "deny") ?? opinions[0];
  }

  /**
   * @param {string} command
   * @param {string} cwd
   * @returns {Promise<HookVerdict | null>}
   */
  async function commandOpinion(command, cwd) {
    const reason = await mention(command, cwd, guarded);
    return reason === null ? null : { verdict: "ask", reason };
  }

  /**
   * @param {ToolCallFacts} call
   * @param {string} cwd
   * @returns {Promise<readonly HookVerdict[]>}
   */
  async function writeOpinions(call, cwd) {
    const paths = pathsIn(call);
    if (paths.length === 0 && (call.kind === "edit" || WHOLE.has(call.kind))) {
      return [{ verdict: "ask", reason: "it does not say which files it changes" }];
    }
    const places = (await Promise.all(paths.map((path) => placesAt(path, cwd)))).flat();
    const isWhole = WHOLE.has(call.kind);
    const all = guarded.map(async (one) => {
      const place = await placeAt(one.path);
      const relations = places.map((path) => relationOf(path, place));
      return opinionOn(one, relations, isWhole);
    });
    return (await Promise.all(all)).filter((opinion) => opinion !== null);
  }

  return { hooks: { before_tool_call: judge, before_ask: judge } };
}

/**
 * @param {GuardedPath} guarded
 * @param {readonly import("./place.js").Relation[]} relations
 * @param {boolean} isWhole
 * @returns {HookVerdict | null}
 */
function opinionOn({ verdict, name }, relations, isWhole) {
  if (relations.includes("inside")) return { verdict, reason: `${name} is guarded` };
  if (isWhole && relations.includes("around")) return { verdict, reason: `${name} is in it` };
  if (!relations.includes("unknown")) return null;
  return { verdict: "ask", reason: `it cannot be told whether it is in ${name}` };
}

/**
 * @param {unknown} value
 * @returns {readonly string[]}
 */
function textsIn(value) {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

import type { CallExpression, Expression, Node } from "oxc-parser";
import { lineOf, nodesIn, programOf, type TreeNode } from "./syntax.ts";

export const FILE_LINES_MAX = 400;
export const FUNCTION_LINES_MAX = 70;
const LINE_COLUMNS_MAX = 100;

const IDLE = /\.\s*(?:skip|skipIf|runIf|only|todo|fails)\b/;
const HASTY = /\.\s*(?:waitFor|waitUntil)\b/;

export function lineCount(text: string): number {
  return text.replace(/\n$/, "").split("\n").length;
}

/** The numbers of the lines that are too long; an address cannot be broken, so it may be. */
export function longLines(text: string): readonly number[] {
  return text.split("\n").flatMap((line, index) => {
    const isLong = [...line].length > LINE_COLUMNS_MAX && !/https?:\/\//.test(line);
    return isLong ? [index + 1] : [];
  });
}

/** Each function that is too long, as `line 12 (71 lines)`. */
export function longFunctions(path: string, text: string): readonly string[] {
  if (lineCount(text) <= FUNCTION_LINES_MAX) return [];
  return [...nodesIn(programOf(path, text))].flatMap((found) => {
    if (!isFunction(found.node) || isDescribeBody(found)) return [];
    const first = lineOf(text, found.node.start);
    const lines = lineOf(text, found.node.end) - first + 1;
    return lines > FUNCTION_LINES_MAX ? [`line ${first} (${lines} lines)`] : [];
  });
}

/** Each test that does not run, or keeps others from running, as `line 3: it.skip`. */
export function idleTests(path: string, text: string): readonly string[] {
  if (!IDLE.test(text)) return []; // So most files need not be parsed.
  return [...nodesIn(programOf(path, text))].flatMap(({ node }) => {
    if (node.type !== "MemberExpression" || node.property.type !== "Identifier") return [];
    const { name } = node.property;
    const runner = rootName(node);
    if (!/^(?:it|test|describe|suite)$/.test(runner)) return [];
    if (!IDLE.test(`.${name}`)) return [];
    return [`line ${lineOf(text, node.start)}: ${runner}.${name}`];
  });
}

/** Waits that give up after a second by themselves; `expect.poll` has its time by our settings. */
export function hastyWaits(path: string, text: string): readonly string[] {
  if (!HASTY.test(text)) return [];
  return [...nodesIn(programOf(path, text))].flatMap(({ node }) => {
    if (node.type !== "MemberExpression" || node.property.type !== "Identifier") return [];
    const { name } = node.property;
    if (rootName(node) !== "vi" || !HASTY.test(`.${name}`)) return [];
    return [`line ${lineOf(text, node.start)}: vi.${name}`];
  });
}

function isFunction(node: Node): boolean {
  return /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type);
}

/** The body of a `describe` is a chapter, not a function: its tests are measured one by one. */
function isDescribeBody({ parent, key }: TreeNode): boolean {
  if (parent?.type !== "CallExpression" || key !== "arguments") return false;
  return rootName(parent) === "describe";
}

/** The name a chain begins with: `describe` of `describe.each(cases)`. */
function rootName(node: Expression | CallExpression["callee"]): string {
  if (node.type === "Identifier") return node.name;
  if (node.type === "MemberExpression") return rootName(node.object);
  if (node.type === "CallExpression") return rootName(node.callee);
  return "";
}

import type { Node } from "oxc-parser";
import { lineOf, nodesIn, programOf, type TreeNode } from "./syntax.ts";

/** Names that bring the outside world in, with what they would bring. */
const IMPURE_NAMES: Readonly<Record<string, string>> = {
  performance: "a clock",
  Temporal: "a clock",
  crypto: "randomness",
  Promise: "waiting",
  setTimeout: "a timer",
  setInterval: "a timer",
  setImmediate: "a timer",
  queueMicrotask: "a timer",
  process: "the process",
  Buffer: "Node",
  console: "output",
  globalThis: "the global scope",
};

const IMPURE_MEMBERS: Readonly<Record<string, string>> = {
  "Date.now": "a clock",
  "Math.random": "randomness",
};

/** One sentence for each use by which a source does more than compute: P4 rests on a pure core. */
export function impurities(path: string, text: string): readonly string[] {
  return [...nodesIn(programOf(path, text))].flatMap((found) => {
    const impurity = impurityOf(found);
    return impurity ? [`${path}:${lineOf(text, found.node.start)} uses ${impurity}`] : [];
  });
}

function impurityOf(found: TreeNode): string | undefined {
  const { node } = found;
  switch (node.type) {
    case "Identifier":
      if (isPropertyName(found) || !Object.hasOwn(IMPURE_NAMES, node.name)) return undefined;
      return `${node.name} (${IMPURE_NAMES[node.name]})`;
    case "MemberExpression": {
      const member = memberText(node);
      if (!Object.hasOwn(IMPURE_MEMBERS, member)) return undefined;
      return `${member} (${IMPURE_MEMBERS[member]})`;
    }
    case "NewExpression":
      return isDate(node.callee) ? "new Date (a clock)" : undefined;
    case "CallExpression":
      return isDate(node.callee) ? "Date() (a clock)" : undefined;
    case "FunctionDeclaration":
    case "FunctionExpression":
    case "ArrowFunctionExpression":
      return node.async ? "async (waiting)" : undefined;
    case "ForOfStatement":
      return node.await ? "for await (waiting)" : undefined;
    case "AwaitExpression":
      return "await (waiting)";
    case "ThrowStatement":
      return "throw (refusals are values)";
    default:
      return undefined;
  }
}

/** `turn.process` and `{ process: 1 }` merely use the word. */
function isPropertyName({ parent, key }: TreeNode): boolean {
  if (!parent) return false;
  if (parent.type === "MemberExpression") return key === "property" && !parent.computed;
  return key === "key" && "computed" in parent && !parent.computed;
}

function memberText(node: Extract<Node, { type: "MemberExpression" }>): string {
  if (node.object.type !== "Identifier") return "";
  const { property } = node;
  if (property.type === "Identifier" && !node.computed)
    return `${node.object.name}.${property.name}`;
  if (property.type === "Literal") return `${node.object.name}.${property.value}`;
  return "";
}

function isDate(node: Node): boolean {
  return node.type === "Identifier" && node.name === "Date";
}

import type { Node } from "oxc-parser";
import type { Sources } from "./imports.ts";
import { nodesIn, programOf, type TreeNode } from "./syntax.ts";

/** The names that no source uses, in their order. */
export function unusedNames(names: readonly string[], sources: Sources): readonly string[] {
  const used = new Set([...sources].flatMap(([path, text]) => usedNames(path, text)));
  return names.filter((name) => !used.has(name));
}

/** The identifiers and strings by which a source uses something that is defined elsewhere. */
function usedNames(path: string, text: string): readonly string[] {
  return [...nodesIn(programOf(path, text))].flatMap((found) => {
    const name = nameIn(found.node);
    return name === undefined || isMereMention(found) ? [] : [name];
  });
}

function nameIn(node: Node): string | undefined {
  if (node.type === "Identifier") return node.name;
  return node.type === "Literal" && typeof node.value === "string" ? node.value : undefined;
}

/**
 * Importing a name is not yet using it, and a type can say a word that no value ever has. Some
 * events have the name of an error code, so these do not count either: what is emitted, what a
 * `type` is compared with, a case, and a table's key.
 */
function isMereMention({ node, parent, key }: TreeNode): boolean {
  switch (parent?.type) {
    case "ImportSpecifier":
    case "ExportSpecifier":
    case "TSLiteralType":
      return true;
    case "BinaryExpression":
      return lastName(parent.left) === "type";
    case "CallExpression":
      return parent.arguments[0] === node && lastName(parent.callee) === "emit";
    default:
      return key === "key" || (parent?.type === "SwitchCase" && key === "test");
  }
}

/** The name at the end of a chain: `emit` of `draft.emit`. */
function lastName(node: Node): string | undefined {
  if (node.type !== "MemberExpression") return nameIn(node);
  return node.computed ? undefined : nameIn(node.property);
}

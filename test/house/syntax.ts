import { type Node, type Program, parseSync, visitorKeys } from "oxc-parser";

/** A node with the place where its parent keeps it, which tells a name from a property's name. */
export type TreeNode = { readonly node: Node; readonly parent?: Node; readonly key?: string };

export function programOf(path: string, text: string): Program {
  const { program, errors } = parseSync(path, text, { sourceType: "module" });
  const [error] = errors;
  if (error) throw new Error(`${path} cannot be parsed: ${error.message}`);
  return program;
}

/** Every node of the tree, parents first. Comments and the insides of strings are not nodes. */
export function* nodesIn(node: Node, parent?: Node, key?: string): Generator<TreeNode> {
  yield parent && key ? { node, parent, key } : { node };
  const fields = node as unknown as Record<string, unknown>;
  for (const childKey of visitorKeys[node.type] ?? []) {
    const field = fields[childKey];
    for (const child of Array.isArray(field) ? field : [field]) {
      if (isNode(child)) yield* nodesIn(child, node, childKey);
    }
  }
}

export function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value;
}

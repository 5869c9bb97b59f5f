import type { Node } from "oxc-parser";
import { nodesIn, programOf } from "./syntax.ts";

/** File texts by path relative to `src`, with forward slashes. */
export type Sources = ReadonlyMap<string, string>;

export type Import = {
  readonly from: string;
  /** What the source says, such as `../core/index.ts`; undefined if it is computed. */
  readonly specifier: string | undefined;
  /** True only for what is erased whole: `import { type A }` still loads its module. */
  readonly isTypeOnly: boolean;
};

/** All imports of a file in any form: static, dynamic, re-exports and types. */
export function importsOf(path: string, text: string): readonly Import[] {
  const program = programOf(path, text);
  // Only these two forms can stand inside of a statement; most files have neither.
  const isNested = /\b(?:import|require)\s*\(/.test(text);
  const nodes = isNested ? [...nodesIn(program)].map(({ node }) => node) : program.body;
  return nodes.flatMap((node) => {
    const found = importIn(node);
    return found ? [{ from: path, ...found }] : [];
  });
}

/** The file an import means, relative to `src`; undefined for packages and for computed paths. */
export function targetOf({ from, specifier }: Import): string | undefined {
  if (!specifier?.startsWith(".")) return undefined;
  const segments = from.split("/").slice(0, -1);
  for (const segment of specifier.split("/")) {
    if (segment === ".") continue;
    if (segment === ".." && segments.length > 0 && segments.at(-1) !== "..") segments.pop();
    else segments.push(segment);
  }
  return segments.join("/");
}

function importIn(node: Node): Omit<Import, "from"> | undefined {
  switch (node.type) {
    case "ImportDeclaration":
      return { specifier: node.source.value, isTypeOnly: node.importKind === "type" };
    case "ExportAllDeclaration":
      return { specifier: node.source.value, isTypeOnly: node.exportKind === "type" };
    case "ExportNamedDeclaration":
      if (!node.source) return undefined;
      return { specifier: node.source.value, isTypeOnly: node.exportKind === "type" };
    case "ImportExpression":
      return { specifier: literalText(node.source), isTypeOnly: false };
    case "TSImportType":
      return { specifier: node.source.value, isTypeOnly: true };
    case "TSExternalModuleReference":
      return { specifier: node.expression.value, isTypeOnly: false };
    default:
      return undefined;
  }
}

function literalText(node: Node): string | undefined {
  return node.type === "Literal" && typeof node.value === "string" ? node.value : undefined;
}

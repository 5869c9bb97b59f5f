import { type Document, isMap, isNode, LineCounter, type Node, parseDocument, visit } from "yaml";

/** A position in a text; both count from 1. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** The value of a YAML text, or where it is no plain data. */
export type ParsedYaml =
  | { readonly document: PlainYaml; readonly fault?: undefined }
  | { readonly document?: undefined; readonly fault: YamlFault };

export interface YamlFault {
  readonly position: TextPosition;
  /** A clause, without an excerpt of the text. */
  readonly reason: string;
}

/** A YAML text that was read: its value, and where each part of it stands. */
export interface PlainYaml {
  readonly value: unknown;
  /** Where something has a name for other places to use; null if nothing has. */
  readonly anchor: TextPosition | null;
  /** Of the value at a path, or of the innermost one on the way there. */
  positionOf(path: readonly string[]): TextPosition;
  /** Of the key that ends a path; of the value where it is in a list. */
  keyPositionOf(path: readonly string[]): TextPosition;
}

const START: TextPosition = { line: 1, column: 1 };

/**
 * Reads plain data only: no tags, no duplicate keys, and no aliases, which people's files do not
 * need and with which a small file expands to a huge value.
 */
export function parsePlainYaml(text: string): ParsedYaml {
  const lineCounter = new LineCounter();
  try {
    const document = parseDocument(text, {
      schema: "core",
      version: "1.2",
      strict: true,
      stringKeys: true,
      uniqueKeys: true,
      merge: false,
      resolveKnownTags: false,
      logLevel: "error",
      lineCounter,
    });
    const [trouble] = [...document.errors, ...document.warnings];
    const position = positionAt(lineCounter, trouble?.pos[0]);
    if (trouble !== undefined) return { fault: { position, reason: clauseOf(trouble.message) } };
    const alias = firstNode(document, lineCounter, "alias");
    if (alias !== null) return { fault: { position: alias, reason: "it has an alias" } };
    return { document: readOf(document, lineCounter) };
  } catch (thrown) {
    const said = thrown instanceof Error ? thrown.message : String(thrown);
    return { fault: { position: START, reason: clauseOf(said) } };
  }
}

function readOf(document: Document, lines: LineCounter): PlainYaml {
  const value: unknown = document.toJS({ maxAliasCount: 0 });
  const at = (node: Node | null) => positionAt(lines, node?.range?.[0]);
  return {
    value,
    anchor: firstNode(document, lines, "anchor"),
    positionOf: (path) => at(innermost(document, path)),
    keyPositionOf(path) {
      const parent = innermost(document, path.slice(0, -1));
      return at(keyIn(parent, path.at(-1) ?? "") ?? innermost(document, path));
    },
  };
}

/** The node at a path, or the last one that is there on the way. */
function innermost(document: Document, path: readonly string[]): Node | null {
  for (let length = path.length; length > 0; length -= 1) {
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node)) return node;
  }
  return isNode(document.contents) ? document.contents : null;
}

function keyIn(node: Node | null, name: string): Node | null {
  if (!isMap(node)) return null;
  const keys = node.items.map(({ key }) => key);
  return keys.filter(isNode).find((key) => "value" in key && key.value === name) ?? null;
}

function firstNode(document: Document, lines: LineCounter, wanted: "alias" | "anchor") {
  let found: TextPosition | null = null;
  const take = (node: Node) => {
    found = positionAt(lines, node.range?.[0]);
    return visit.BREAK;
  };
  visit(document, {
    Alias: (_, node) => (wanted === "alias" ? take(node) : undefined),
    Value: (_, node) => (wanted === "anchor" && node.anchor ? take(node) : undefined),
  });
  return found;
}

function positionAt(lines: LineCounter, offset = 0): TextPosition {
  const { line, col } = lines.linePos(offset);
  // A text of no lines has none at all.
  return line === 0 ? START : { line, column: col };
}

/** The first line of the parser's message, without the place and the excerpt below it. */
function clauseOf(message: string): string {
  const [first = ""] = message.split("\n");
  if (first.startsWith("Maximum call stack")) return "it is nested too deeply";
  return first.replace(/ at line \d+, column \d+:?$/, "").replace(/[:.]$/, "");
}

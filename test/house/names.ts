import type { Node, TSSignature } from "oxc-parser";
import type { Sources } from "./imports.ts";
import { programOf } from "./syntax.ts";

interface Declaration {
  readonly name: string;
  readonly isType: boolean;
  readonly isExported: boolean;
}

/** A name that several files declare as a type, as `Place: a.ts, b.ts`. */
export function duplicateTypes(sources: Sources, which: "exported" | "all"): readonly string[] {
  const files = new Map<string, Set<string>>();
  for (const [path, text] of sources) {
    for (const { name, isType, isExported } of declarationsIn(path, text)) {
      if (!isType || (which === "exported" && !isExported)) continue;
      files.set(name, (files.get(name) ?? new Set()).add(path));
    }
  }
  const several = [...files].filter(([, paths]) => paths.size > 1);
  return several.map(([name, paths]) => `${name}: ${[...paths].join(", ")}`).sort();
}

/** Interfaces by which an object calls back the one that made it, as `a.ts: LinkOwner`. */
export function ownerInterfaces(sources: Sources): readonly string[] {
  return [...sources].flatMap(([path, text]) => {
    const found = declarationsIn(path, text).filter(({ name, isType }) => {
      return isType && /(?:Owner|Ears)$/.test(name);
    });
    return found.map(({ name }) => `${path}: ${name}`);
  });
}

/**
 * The same by shape, so that another name hides none: at least half of the members are functions
 * that take something and return nothing.
 */
export function callbackInterfaces(sources: Sources): readonly string[] {
  return [...sources].flatMap(([path, text]) => {
    return programOf(path, text).body.flatMap((statement) => {
      const declared =
        statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
      if (declared?.type !== "TSInterfaceDeclaration") return [];
      const members = declared.body.body;
      const callbacks = members.filter(isCallback).length;
      const isMeant = callbacks > 0 && 2 * callbacks >= members.length;
      return isMeant ? [`${path}: ${declared.id.name}`] : [];
    });
  });
}

function isCallback(member: TSSignature): boolean {
  const type =
    member.type === "TSPropertySignature" ? member.typeAnnotation?.typeAnnotation : member;
  if (type?.type !== "TSMethodSignature" && type?.type !== "TSFunctionType") return false;
  return type.params.length > 0 && type.returnType?.typeAnnotation.type === "TSVoidKeyword";
}

/** The words that the glossary has in `code` in its column "Avoid". */
export function wordsToAvoid(page: string): ReadonlySet<string> {
  const words = new Set<string>();
  let isGlossary = false;
  for (const line of page.split("\n")) {
    const cells = line.split("|").map((cell) => cell.trim());
    if (cells.length < 5) isGlossary = false;
    else if (cells[1] === "Word" && cells[3] === "Avoid") isGlossary = true;
    else if (isGlossary) {
      for (const [, word = ""] of (cells[3] ?? "").matchAll(/`([^`]+)`/g)) words.add(word);
    }
  }
  return words;
}

/** The exported names that have a word to avoid, alone or in the plural, as `a.ts: Wish`. */
export function namesToAvoid(sources: Sources, words: ReadonlySet<string>): readonly string[] {
  return [...sources].flatMap(([path, text]) => {
    const names = declarationsIn(path, text).filter(({ name, isExported }) => {
      return isExported && wordsOf(name).some((word) => words.has(word) || isPlural(word, words));
    });
    return [...new Set(names.map(({ name }) => `${path}: ${name}`))];
  });
}

function isPlural(word: string, words: ReadonlySet<string>): boolean {
  return words.has(word.replace(/e?s$/, "")) || words.has(word.replace(/s$/, ""));
}

/** `readHttpWish` is `read`, `http`, `wish`; `TURNS_MAX` is `turns`, `max`. */
function wordsOf(name: string): readonly string[] {
  const words = name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? [];
  return words.map((word) => word.toLowerCase());
}

/** What a file declares at its top level. */
function declarationsIn(path: string, text: string): readonly Declaration[] {
  return programOf(path, text).body.flatMap((statement) => {
    const isExported = statement.type === "ExportNamedDeclaration";
    const declared = isExported ? statement.declaration : statement;
    return declared ? namesIn(declared).map((one) => ({ ...one, isExported })) : [];
  });
}

function namesIn(node: Node): readonly Omit<Declaration, "isExported">[] {
  switch (node.type) {
    case "TSInterfaceDeclaration":
    case "TSTypeAliasDeclaration":
      return [{ name: node.id.name, isType: true }];
    case "ClassDeclaration":
      return node.id ? [{ name: node.id.name, isType: true }] : [];
    case "FunctionDeclaration":
      return node.id ? [{ name: node.id.name, isType: false }] : [];
    case "VariableDeclaration":
      return node.declarations.flatMap(({ id }) =>
        id.type === "Identifier" ? [{ name: id.name, isType: false }] : [],
      );
    default:
      return [];
  }
}

import { describe, expect, it } from "vitest";
import {
  callbackInterfaces,
  duplicateTypes,
  namesToAvoid,
  ownerInterfaces,
  wordsToAvoid,
} from "./names.ts";

function sources(texts: Record<string, string>) {
  return new Map(Object.entries(texts));
}

describe("the search for duplicate type names", () => {
  const house = sources({
    "a.ts": "export interface Place {} interface Order {} const Turn = 1;",
    "b.ts": "export class Place {} type Order = 1; type Turn = 2;",
  });

  it("finds a name that two files declare, be it an interface, an alias or a class", () => {
    expect(duplicateTypes(house, "all")).toEqual(["Order: a.ts, b.ts", "Place: a.ts, b.ts"]);
  });

  it("can leave out what a file keeps to itself", () => {
    expect(duplicateTypes(house, "exported")).toEqual(["Place: a.ts, b.ts"]);
  });

  it("accepts an interface and a class of one file, and a name that is imported", () => {
    const merged = { "a.ts": "interface A {} class A {}", "b.ts": 'import { A } from "./a.ts";' };
    expect(duplicateTypes(sources(merged), "all")).toEqual([]);
  });
});

describe("the search for owner interfaces", () => {
  it("finds them by the end of their names", () => {
    const text = "export interface LinkOwner {} type McpEars = 1; interface OwnerId {}";
    expect(ownerInterfaces(sources({ "a.ts": text }))).toEqual([
      "a.ts: LinkOwner",
      "a.ts: McpEars",
    ]);
  });
});

describe("the search for callback interfaces", () => {
  it.each([
    ["methods", "interface A { ended(code: number): void; readonly name: string }"],
    ["functions", "export interface A { readonly ended: (code: number) => void }"],
  ])("finds them by their shape, as %s", (_what, text) => {
    expect(callbackInterfaces(sources({ "a.ts": text }))).toEqual(["a.ts: A"]);
  });

  it.each([
    ["data", "interface A { readonly name: string }"],
    ["a service", "interface A { find(name: string): string; close(): void }"],
  ])("accepts %s", (_what, text) => {
    expect(callbackInterfaces(sources({ "a.ts": text }))).toEqual([]);
  });
});

const GLOSSARY = `
| Word | Means | Avoid |
|---|---|---|
| request | what \`a\` caller asks for | thread, \`wish\`, \`order\` |
| slot | | |

| Path | Answers | Other |
|---|---|---|
| a | b | \`c\` |
`;

describe("the words to avoid", () => {
  it("are those in code in the last column of a glossary, and of no other table", () => {
    expect([...wordsToAvoid(GLOSSARY)]).toEqual(["wish", "order"]);
  });

  it.each([
    ["a type", "export interface PromptWish {}"],
    ["a function", "export function readWish() {}"],
    ["a constant", "export const WISHES_MAX = 1;"],
    ["a plural", "export class Orders {}"],
  ])("are found in the exported name of %s", (_what, text) => {
    expect(namesToAvoid(sources({ "a.ts": text }), wordsToAvoid(GLOSSARY))).toHaveLength(1);
  });

  it.each([
    ["a name that is not exported", "interface Wish {}"],
    ["another word that has the same letters", "export const border = 1, ordered = 2;"],
  ])("are not found in %s", (_what, text) => {
    expect(namesToAvoid(sources({ "a.ts": text }), wordsToAvoid(GLOSSARY))).toEqual([]);
  });
});

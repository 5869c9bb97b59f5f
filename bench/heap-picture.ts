import { readFile } from "node:fs/promises";

/** What V8 writes of a heap: rows of numbers, whose columns are named in `meta`. */
interface WrittenHeap {
  readonly snapshot: {
    readonly meta: {
      readonly node_fields: readonly string[];
      readonly node_types: readonly [readonly string[]];
      readonly edge_fields: readonly string[];
      readonly edge_types: readonly [readonly string[]];
    };
  };
  readonly nodes: readonly number[];
  readonly edges: readonly number[];
  readonly strings: readonly string[];
}

/** The objects of a heap, and which holds which. */
export class HeapPicture {
  readonly #heap: WrittenHeap;
  readonly #node: Columns<"type" | "name" | "self_size" | "edge_count">;
  readonly #edge: Columns<"type" | "name_or_index" | "to_node">;
  /** The first edge of each object. */
  readonly #firstEdge: Uint32Array;

  private constructor(heap: WrittenHeap) {
    const { meta } = heap.snapshot;
    this.#heap = heap;
    this.#node = columnsIn(meta.node_fields, "type", "name", "self_size", "edge_count");
    this.#edge = columnsIn(meta.edge_fields, "type", "name_or_index", "to_node");
    this.#firstEdge = new Uint32Array(heap.nodes.length / this.#node.width + 1);
    for (let one = 0, edge = 0; one < this.#firstEdge.length; one += 1) {
      this.#firstEdge[one] = edge;
      edge += this.#of(one, "edge_count");
    }
  }

  static async read(file: string): Promise<HeapPicture> {
    // What V8 writes is as its own documentation of the format says.
    const heap: WrittenHeap = JSON.parse(await readFile(file, "utf8"));
    return new HeapPicture(heap);
  }

  /**
   * The bytes of each owner: of its objects, and of all that only they lead to, or they before the
   * owners behind them. What is reached without any owner is of `null`.
   */
  bytesByOwner(ownerOf: ReadonlyMap<string, string>): ReadonlyMap<string | null, number> {
    const owners = this.#owners(ownerOf);
    const bytes = new Map<string | null, number>();
    const taken = new Uint8Array(this.#firstEdge.length - 1);
    const take = (start: number, owner: string | null) => {
      const open = [start];
      taken[start] = 1;
      for (let one = open.pop(); one !== undefined; one = open.pop()) {
        bytes.set(owner, (bytes.get(owner) ?? 0) + this.#of(one, "self_size"));
        for (const held of this.#heldBy(one)) {
          if (taken[held] === 1 || owners.has(held)) continue;
          taken[held] = 1;
          open.push(held);
        }
      }
    };
    take(ROOT, null);
    for (const [one, owner] of owners) if (taken[one] === 0) take(one, owner);
    return bytes;
  }

  /** Where the shares of owners begin: objects of a class, and what a field of one leads to. */
  #owners(ownerOf: ReadonlyMap<string, string>): ReadonlyMap<number, string> {
    const owners = new Map<number, string>();
    const types = this.#heap.snapshot.meta.node_types[0];
    for (let one = 0; one < this.#firstEdge.length - 1; one += 1) {
      if (types[this.#of(one, "type")] !== "object") continue;
      const name = this.#heap.strings[this.#of(one, "name")] ?? "";
      const owner = ownerOf.get(name);
      if (owner === undefined) continue;
      owners.set(one, owner);
      for (const [field, held] of this.#fieldsOf(one)) {
        const ofField = ownerOf.get(`${name}.${field}`);
        if (ofField !== undefined) owners.set(held, ofField);
      }
    }
    return owners;
  }

  #of(one: number, column: "type" | "name" | "self_size" | "edge_count"): number {
    return this.#heap.nodes[one * this.#node.width + this.#node.at[column]] ?? 0;
  }

  *#heldBy(one: number): Generator<number> {
    const { edges, snapshot } = this.#heap;
    const { width, at } = this.#edge;
    const types = snapshot.meta.edge_types[0];
    for (let edge = this.#firstEdge[one] ?? 0; edge < (this.#firstEdge[one + 1] ?? 0); edge += 1) {
      const type = types[edges[edge * width + at.type] ?? 0];
      if (type === "weak" || type === "shortcut") continue;
      yield (edges[edge * width + at.to_node] ?? 0) / this.#node.width;
    }
  }

  *#fieldsOf(one: number): Generator<readonly [string, number]> {
    const { edges, strings, snapshot } = this.#heap;
    const { width, at } = this.#edge;
    const types = snapshot.meta.edge_types[0];
    for (let edge = this.#firstEdge[one] ?? 0; edge < (this.#firstEdge[one + 1] ?? 0); edge += 1) {
      if (types[edges[edge * width + at.type] ?? 0] !== "property") continue;
      const name = strings[edges[edge * width + at.name_or_index] ?? 0] ?? "";
      const held = (edges[edge * width + at.to_node] ?? 0) / this.#node.width;
      // A private field is written as a symbol of its name.
      yield [name.replace(/^<symbol (.*)>$/, "$1"), held];
    }
  }
}

const ROOT = 0;

interface Columns<Name extends string> {
  readonly width: number;
  readonly at: Readonly<Record<Name, number>>;
}

function columnsIn<Name extends string>(
  fields: readonly string[],
  ...names: readonly Name[]
): Columns<Name> {
  const at = Object.fromEntries(names.map((name) => [name, fields.indexOf(name)]));
  // One entry for each of the names.
  return { width: fields.length, at: at as Record<Name, number> };
}

import type { Profiler } from "node:inspector/promises";

/**
 * The stops of a chunk on its way, and whose work is theirs: files and functions of ours, or of
 * Node where none of ours has called them. A sample counts for the nearest caller that a row names.
 */
const STOPS: readonly (readonly [stop: string, pattern: RegExp])[] = [
  ["secrets: scan", /^src\/store\/(?:secret|redaction)|#scanned$|held-text/],
  ["agent's pipe: read", /onStreamRead|createAsyncIterator|connection\.ts #read$|node:.*readable/],
  ["lines: split, decode", /wire\/rpc\.ts (?:feed|#finish|#keep|lines)/],
  ["JSON: parse", /wire\/(?:rpc|json)\.ts/],
  ["agent's side: which session, what it means", /^src\/(?:agent|session\/agent)\//],
  ["events: write as JSON", /written\.ts (?:writ|\(anonymous\))/],
  ["history: join, fold", /actor\/history|core\/replay|session\/(?:conversation|stats)\//],
  ["decide, evolve", /^src\/core\/(?!replay)/],
  ["actor: take, answer", /actor\/(?:actor|open-turns|written)/],
  ["commits: gather, settle", /actor\/pipeline/],
  [
    "store's thread: call, answer",
    /store\/sqlite\/(?:store|thread|calls)|MessagePort|node:.*worker/,
  ],
  ["store: check, weigh", /^src\/store\/(?!sqlite)/],
  ["SQLite: rows, checksums", /sqlite\/(?:row|batch|write|tenant)\.ts/],
  ["SQLite: transaction, disk", /^src\/store\/sqlite\/|better-sqlite3/],
  ["streams: publish", /^src\/session\/bus\//],
  ["frames: build, encode", /event-stream\.ts (?:batchBytes|\(anonymous\))|wire\/sse/],
  ["sockets: write", /event-stream|^node:(?:_http|net|internal\/stream)|writev|writeBuffer/],
  ["others that follow the session", /^src\/session\/(?!host)/],
  ["requests", /^src\/(?:server|session\/host)|^node:.*http|^node:url|parserOnMessage/],
  ["collections", /\(garbage collector\)/],
];

/** What no row of the table names. */
export const REST = "Node: event loop, promises, the rest";

/** Every stop, in the order of the table. */
export const STOP_NAMES: readonly string[] = [...STOPS.map(([stop]) => stop), REST];

const IDLE = "(idle)";

/** How many samples of a thread at work fell on each stop. */
export function samplesByStop({ nodes, samples = [] }: Profiler.Profile): Map<string, number> {
  const parents = new Map<number, Profiler.ProfileNode>();
  const byId = new Map(nodes.map((node) => [node.id, node]));
  for (const node of nodes) for (const child of node.children ?? []) parents.set(child, node);
  const stopOf = new Map(nodes.map((node) => [node.id, stopAt(node, parents)]));
  const counts = new Map<string, number>();
  for (const id of samples) {
    const stop = stopOf.get(id);
    const isIdle = byId.get(id)?.callFrame.functionName === IDLE;
    if (stop !== undefined && !isIdle) counts.set(stop, (counts.get(stop) ?? 0) + 1);
  }
  return counts;
}

function stopAt(leaf: Profiler.ProfileNode, parents: ReadonlyMap<number, Profiler.ProfileNode>) {
  for (let node: typeof leaf | undefined = leaf; node; node = parents.get(node.id)) {
    const { url, functionName } = node.callFrame;
    const file = url.replace(/^.*\/(?=(?:src|bench|node_modules)\/)/, "");
    const name = `${file} ${functionName || "(anonymous)"}`;
    if (name.includes("inspector")) return undefined; // The probe is no part of what it measures.
    const stop = STOPS.find(([, pattern]) => pattern.test(name))?.[0];
    if (stop !== undefined) return stop;
  }
  return REST;
}

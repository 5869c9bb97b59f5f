import { ok } from "../../src/core/result.ts";
import type { ChosenExtensions, EnabledExtension } from "../../src/extension/catalog.ts";
import type { ExtensionAnswer } from "../../src/extension/thread/messages.ts";
import type { RunningThread, StartThread } from "../../src/extension/thread/threads.ts";
import type { SessionWorld } from "../../src/session/world.ts";
import { altered, withStore } from "./altered.ts";
import type { Flaw } from "./flaws.ts";

/** Flaws in what sessions do with their extensions. */
export const EXTENSION_FLAWS: Readonly<Record<string, Flaw>> = {
  "P1: keeps what an extension did in a turn that failed": {
    world: withThreads((thread) => ({
      ask: ({ slot: _, ...request }) => thread.ask(request),
    })),
  },
  "Hang, P5: leaves extensions at work": { world: withThreads(() => ({ end: () => {} })) },
  "P6: removes the slots of extensions that are not here": {
    world: withStore((store) => ({
      commit: (key, term, commit) => {
        if (commit.snapshot === undefined) return store.commit(key, term, commit);
        const snapshot = { ...commit.snapshot, removedSlots: ["keeper"] };
        return store.commit(key, term, { ...commit, snapshot });
      },
    })),
  },
  "P6: takes a slot of a version that its owner rejects": {
    world: withCatalog(({ enabled, refused }) => ({ enabled: enabled.map(careless), refused })),
  },
  "P6: does not say what is missing": {
    world: withCatalog(({ enabled }) => ({ enabled, refused: [] })),
  },
  "P6: gives an extension no slot": {
    world: withStart((start) => (wanted, options) => start({ ...wanted, slot: null }, options)),
  },
  "P5, P8: gives an extension another session": {
    world: withStart((start) => (wanted, options) => {
      const session = { ...wanted.session, sessionId: "session-0" };
      return start({ ...wanted, session }, options);
    }),
  },
  "Guard: does not hear what is denied": {
    world: withThreads((thread) => ({
      ask: async (request) => passing(await thread.ask(request)),
    })),
  },
};

function careless(one: EnabledExtension): EnabledExtension {
  const { stateSlot } = one.manifest;
  if (stateSlot === null) return one;
  const changed = { ...stateSlot, driftPolicy: "warn" } as const;
  return { ...one, manifest: { ...one.manifest, stateSlot: changed } };
}

function passing(answer: ExtensionAnswer): ExtensionAnswer {
  return { ...answer, text: answer.text.replace(`"deny"`, `"pass"`) };
}

function withCatalog(change: (chosen: ChosenExtensions) => ChosenExtensions) {
  return ({ extensions, ...world }: SessionWorld): SessionWorld => {
    if (extensions === undefined) return world;
    const { catalog, threads } = extensions;
    const of: typeof catalog.of = async (place) => change(await catalog.of(place));
    return { ...world, extensions: { catalog: { ...catalog, of }, threads } };
  };
}

function withStart(change: (start: StartThread) => StartThread) {
  return ({ extensions, ...world }: SessionWorld): SessionWorld => {
    if (extensions === undefined) return world;
    const { catalog, threads } = extensions;
    const startFor: typeof threads.startFor = (tenantId) => change(threads.startFor(tenantId));
    return { ...world, extensions: { catalog, threads: { startFor } } };
  };
}

function withThreads(change: (thread: RunningThread) => Partial<RunningThread>) {
  return withStart((start) => (wanted, options) => {
    const started = start(wanted, options);
    return started.ok ? ok(altered(started.value, change(started.value))) : started;
  });
}

import type Database from "better-sqlite3";
import { type BenchSession, EVENT_TEXT, StoreWorld, value } from "./store-world.ts";
import type { Trial } from "./trial.ts";

/** Events of one session in one wave, each a commit of its own. */
const PIPELINED = 16;
const WAVES = 8;
const ROWS_PER_COMMIT = 100;

/** Many sessions streaming, one event a commit, against bare inserts a hundred rows a commit. */
function streaming(sessionCount: number): Trial {
  const world = new StoreWorld();
  const sessions: BenchSession[] = [];
  let raw: Database.Database | null = null;
  let row = 0;
  return {
    group: "store",
    name: `durable appends, ${sessionCount} sessions`,
    ...(sessionCount > 1 && { budget: ">= 0.5 of raw" }),
    async prepare() {
      await world.open();
      for (let n = 0; n < sessionCount; n += 1) sessions.push(await world.session(`s${n}`));
      raw = world.rawDatabase();
    },
    async clear() {
      raw?.close();
      await world.close();
    },
    floor: {
      name: `raw, ${ROWS_PER_COMMIT} rows a commit`,
      run() {
        const insert = raw?.prepare("INSERT INTO events VALUES (1, ?, ?)");
        const rows = () => {
          for (let n = 0; n < ROWS_PER_COMMIT; n += 1) insert?.run(++row, EVENT_TEXT);
        };
        raw?.transaction(rows)();
        return ROWS_PER_COMMIT;
      },
    },
    subject: {
      name: "store",
      run: () => stream(sessions),
    },
  };
}

/** Agents do not wait for the disk: the next wave is on its way while the last one is written. */
async function stream(sessions: readonly BenchSession[]): Promise<number> {
  let done = 0;
  let before = wave(sessions);
  for (let waves = 1; waves < WAVES; waves += 1) {
    const next = wave(sessions);
    done += await before;
    before = next;
  }
  return done + (await before);
}

async function wave(sessions: readonly BenchSession[]): Promise<number> {
  const appends = sessions.flatMap((session) =>
    Array.from({ length: PIPELINED }, () => session.append()),
  );
  for (const result of await Promise.all(appends)) value(result);
  return appends.length;
}

/** How long one event takes to be safe when nothing else is going on. */
function latency(): Trial {
  const world = new StoreWorld();
  let session: BenchSession | null = null;
  let raw: Database.Database | null = null;
  let row = 0;
  return {
    group: "store",
    name: "one event, nothing else",
    budget: ">= 0.5 of raw",
    async prepare() {
      await world.open();
      session = await world.session("s");
      raw = world.rawDatabase();
    },
    async clear() {
      raw?.close();
      await world.close();
    },
    floor: {
      name: "raw, 1 row a commit",
      run() {
        raw?.prepare("INSERT INTO events VALUES (1, ?, ?)").run(++row, EVENT_TEXT);
        return 1;
      },
    },
    subject: {
      name: "store",
      async run() {
        if (session) value(await session.append());
        return 1;
      },
    },
  };
}

/** The same act in a young and in an old session: what it costs must not depend on the age. */
function overAges(
  name: string,
  budget: string,
  [young, old]: readonly [number, number],
  act: (session: BenchSession, world: StoreWorld) => Promise<unknown>,
): Trial {
  const world = new StoreWorld();
  const sessions: BenchSession[] = [];
  const contender = (turns: number, index: number) => ({
    name: `${turns} turns`,
    async run() {
      const session = sessions[index];
      if (session) await act(session, world);
      return 1;
    },
  });
  return {
    group: "store",
    name,
    budget,
    async prepare() {
      await world.open();
      for (const turns of [young, old]) sessions.push(await aged(world, turns));
    },
    clear: () => world.close(),
    floor: contender(young, 0),
    subject: contender(old, 1),
  };
}

async function aged(world: StoreWorld, turns: number): Promise<BenchSession> {
  const session = await world.session(`s${turns}`);
  for (let done = 0; done < turns; done += 100) {
    const batch = Array.from({ length: Math.min(100, turns - done) }, () => session.endTurn());
    for (const result of await Promise.all(batch)) value(result);
  }
  return session;
}

/** Opening reads the record, the slots and the newest turns; then it is given up again. */
async function openAndLoad({ key }: BenchSession, { store }: StoreWorld): Promise<void> {
  value(await store.readRecord(key));
  value(await store.readSlots(key));
  value(await store.readTurns(key, { before: Number.MAX_SAFE_INTEGER, limit: 100 }));
}

function listing(): Trial {
  const few = new StoreWorld();
  const many = new StoreWorld();
  const contender = (world: StoreWorld, sessions: string) => ({
    name: `among ${sessions}`,
    async run() {
      value(await world.store.list(world.tenantId, {}, { limit: 100, cursor: null }));
      return 1;
    },
  });
  return {
    group: "store",
    name: "list of the newest 100",
    budget: ">= 0.5",
    async prepare() {
      await filled(few, 1_000);
      await filled(many, 100_000);
    },
    async clear() {
      await few.close();
      await many.close();
    },
    floor: contender(few, "1,000"),
    subject: contender(many, "100,000"),
  };
}

async function filled(world: StoreWorld, sessions: number): Promise<void> {
  await world.open();
  for (let done = 0; done < sessions; done += 1_000) {
    const batch = Array.from({ length: 1_000 }, (_, n) => world.session(`s${done + n}`));
    await Promise.all(batch);
  }
}

export const trials: readonly Trial[] = [
  latency(),
  streaming(1),
  streaming(16),
  streaming(256),
  overAges("commit of a turn", ">= 0.83", [10, 10_000], async (session) => {
    value(await session.endTurn());
  }),
  overAges("opening and loading", ">= 0.33", [100, 10_000], openAndLoad),
  listing(),
];

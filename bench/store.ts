import type Database from "better-sqlite3";
import { branching } from "./store-branch.ts";
import { type BenchSession, EVENT_TEXT, StoreWorld, value } from "./store-world.ts";
import { Latencies, type Trial } from "./trial.ts";

/** Events of one session in one wave, each a commit of its own. */
const PIPELINED = 16;
const WAVES = 8;
const ROWS_PER_COMMIT = 100;

/** Bare inserts, so many rows a commit: what the same disk can do at all. */
class RawRows {
  readonly name: string;
  readonly #world: StoreWorld;
  readonly #rowsPerCommit: number;
  #database: Database.Database | null = null;
  #row = 0;

  constructor(world: StoreWorld, rowsPerCommit: number) {
    this.name = `raw, ${rowsPerCommit} ${rowsPerCommit === 1 ? "row" : "rows"} a commit`;
    this.#world = world;
    this.#rowsPerCommit = rowsPerCommit;
  }

  open() {
    this.#database = this.#world.rawDatabase();
  }

  close() {
    this.#database?.close();
  }

  /** Returns how many rows are safe now. */
  commit(): number {
    const insert = this.#database?.prepare("INSERT INTO events VALUES (1, ?, ?)");
    const insertRows = () => {
      for (let n = 0; n < this.#rowsPerCommit; n += 1) insert?.run(++this.#row, EVENT_TEXT);
    };
    this.#database?.transaction(insertRows)();
    return this.#rowsPerCommit;
  }
}

/** Many sessions streaming, one event a commit, against bare inserts a hundred rows a commit. */
function streaming(sessionCount: number): Trial {
  const world = new StoreWorld();
  const sessions: BenchSession[] = [];
  const latencies = new Latencies("from commit to answer, in full stream");
  const raw = new RawRows(world, ROWS_PER_COMMIT);
  return {
    name: `durable appends, ${sessionCount} sessions`,
    ...(sessionCount > 1 && { budget: ">= 0.5 of raw" }),
    async prepare() {
      await world.open();
      for (let n = 0; n < sessionCount; n += 1) sessions.push(await world.session(`s${n}`));
      raw.open();
    },
    async clear() {
      raw.close();
      await world.close();
    },
    floor: {
      name: raw.name,
      run: () => raw.commit(),
    },
    subject: {
      name: "store",
      run: () => stream(sessions, latencies),
    },
    figures: () => latencies.figures,
  };
}

/** Agents do not wait for the disk: the next wave is on its way while the last one is written. */
async function stream(sessions: readonly BenchSession[], latencies: Latencies): Promise<number> {
  let done = 0;
  let before = wave(sessions, latencies);
  for (let waves = 1; waves < WAVES; waves += 1) {
    const next = wave(sessions, latencies);
    done += await before;
    before = next;
  }
  return done + (await before);
}

/** Of each wave one append is timed: timing all would be half of the work. */
async function wave(sessions: readonly BenchSession[], latencies: Latencies): Promise<number> {
  const appends = sessions.flatMap((session, index) =>
    Array.from({ length: PIPELINED }, (_, n) =>
      index + n === 0 ? latencies.of(() => session.append()) : session.append(),
    ),
  );
  for (const result of await Promise.all(appends)) value(result);
  return appends.length;
}

/** How long one commit takes when nothing else is going on, against bare rows in its place. */
function aloneAgainstRaw(
  name: string,
  rowsPerCommit: number,
  commit: (session: BenchSession) => ReturnType<BenchSession["append"]>,
): Trial {
  const world = new StoreWorld();
  const latencies = new Latencies("from commit to answer");
  const raw = new RawRows(world, rowsPerCommit);
  let session: BenchSession | null = null;
  return {
    name,
    async prepare() {
      await world.open();
      session = await world.session("s");
      raw.open();
    },
    async clear() {
      raw.close();
      await world.close();
    },
    floor: {
      name: raw.name,
      run() {
        raw.commit();
        return 1;
      },
    },
    subject: {
      name: "store",
      async run() {
        const own = session;
        if (own) value(await latencies.of(() => commit(own)));
        return 1;
      },
    },
    figures: () => latencies.figures,
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

/** What an activation does: open, read what came after the snapshot, and the newest turns. */
async function openAndLoad({ key }: BenchSession, { store, holder }: StoreWorld): Promise<void> {
  const { record } = value(await store.open(key, holder, []));
  value(await store.readEvents(key, { after: record.snapshotEventId, limit: 1_000 }));
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
    name: "list of the newest 100",
    budget: ">= 0.5",
    async prepare() {
      await few.open();
      await filled(few, 1_000);
      await many.open();
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

/** The store against the bare driver over the very same rows, on the same disk. */
function againstBareRows(
  name: string,
  prepare: (world: StoreWorld) => Promise<BenchSession | null>,
  act: (session: BenchSession | null, world: StoreWorld) => Promise<unknown>,
  bare: (rows: Database.Database, commit: () => void) => void,
): Trial {
  const world = new StoreWorld();
  const raw = new RawRows(world, 1);
  let session: BenchSession | null = null;
  let rows: Database.Database | null = null;
  return {
    name,
    async prepare() {
      await world.open();
      session = await prepare(world);
      rows = world.bareReader();
      raw.open();
    },
    async clear() {
      raw.close();
      rows?.close();
      await world.close();
    },
    floor: {
      name: "raw",
      run() {
        if (rows) bare(rows, () => raw.commit());
        return 1;
      },
    },
    subject: {
      name: "store",
      async run() {
        await act(session, world);
        return 1;
      },
    },
  };
}

/** Opening takes a session, which is a commit, and reads its slots and its newest turns. */
function openingAgainstRaw(turns: number): Trial {
  return againstBareRows(
    `opening and loading, ${turns} turns`,
    (world) => aged(world, turns),
    async (session, world) => (session ? openAndLoad(session, world) : null),
    (rows, commit) => {
      commit();
      rows.prepare("SELECT * FROM sessions WHERE session_id = ?").get(`s${turns}`);
      rows.prepare("SELECT * FROM slots WHERE number = 1").all();
      rows.prepare("SELECT * FROM turns WHERE number = 1 ORDER BY last_id DESC LIMIT 100").all();
    },
  );
}

function listingAgainstRaw(sessions: number): Trial {
  const newest = "SELECT * FROM sessions ORDER BY updated_at_ms DESC, session_id LIMIT 100";
  return againstBareRows(
    `list of the newest 100, among ${sessions.toLocaleString("en")}`,
    async (world) => {
      await filled(world, sessions);
      return null;
    },
    async (_, { store, tenantId }) => {
      value(await store.list(tenantId, {}, { limit: 100, cursor: null }));
    },
    (rows) => void rows.prepare(newest).all(),
  );
}

async function filled(world: StoreWorld, sessions: number): Promise<void> {
  for (let done = 0; done < sessions; done += 1_000) {
    const batch = Array.from({ length: 1_000 }, (_, n) => world.session(`s${done + n}`));
    await Promise.all(batch);
  }
}

export const trials: readonly Trial[] = [
  // How long one event takes to be safe.
  { ...aloneAgainstRaw("one event, nothing else", 1, (s) => s.append()), budget: ">= 0.5 of raw" },
  streaming(1),
  streaming(16),
  streaming(256),
  // The end of a turn, against the same rows.
  aloneAgainstRaw("end of a turn", 14, (session) => session.endTurn()),
  overAges("commit of a turn", ">= 0.83", [10, 10_000], async (session) => {
    value(await session.endTurn());
  }),
  overAges("opening and loading", ">= 0.33", [100, 10_000], openAndLoad),
  openingAgainstRaw(100),
  branching(),
  listing(),
  listingAgainstRaw(1_000),
];

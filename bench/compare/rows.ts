/** What a group of rows needs of a server besides its wire. */
export type Need =
  /** Its agent has to be that of the bench. */
  | "agent"
  /** The bench has to start it, end it or look into it. */
  | "process";

interface RowGroup {
  readonly needs: readonly Need[];
  readonly rows: readonly AnyRow[];
}

/** One row of the table: what is measured, how, and what it should come to. */
interface AnyRow {
  readonly id: string;
  readonly name: string;
  readonly unit: Unit;
  readonly figures: readonly Figure[];
  /** One sentence. */
  readonly method: string;
}

/** One of a row's figures, and what it should be at most; of rates, at least. */
interface Figure {
  readonly name: string;
  readonly goal: number | null;
}

export type Unit = "ms" | "s" | "MB" | "/s";

/** The groups that `--rows` chooses from, in the order of the table. */
const GROUPS = {
  create: {
    needs: [],
    rows: [
      row("create", "create a session", "ms", { p50: 4, p99: 12 })(
        "POST /session of scope thread, one after another; all of them stay live.",
      ),
      row("attach", "attach", "ms", { p50: 1.2 })(
        "POST /session by a known client to the live session of scope single.",
      ),
      row("close", "close", "ms", { p50: 2.5 })(
        "DELETE of each session that was created, one after another.",
      ),
    ],
  },
  start: {
    needs: ["process"],
    rows: [
      row("health", "start to /health", "ms", { p50: 120 })(
        "From the start of the process to its first answer, over the data of a run before.",
      ),
      row("first", "start to the first session", "ms", { p50: 300 })(
        "The same starts, to the answer of a create that is sent when /health has answered.",
      ),
    ],
  },
  prompt: {
    needs: ["agent"],
    rows: [
      row("event", "prompt to the first event", "ms", { p50: 2, p99: 6 })(
        "From sending a prompt to the first numbered event in the stream of the same client.",
      ),
      row("words", "prompt to the agent's words", "ms", { p50: null, p99: null })(
        "The same prompts, to the one chunk that the agent says.",
      ),
      row("verdict", "prompt to verdict", "ms", { p50: 4 })(
        "The same prompts, to turn_complete in the stream of the same client.",
      ),
    ],
  },
  turn: {
    needs: ["agent"],
    rows: [
      row("turn", "one turn of 2,000 chunks", "/s", { chunks: 100_000 })(
        "Chunks of 100 bytes, a write each, from the prompt to turn_complete in one stream.",
      ),
    ],
  },
  burst: {
    needs: ["agent"],
    rows: [
      row("burst", "burst to 50 streams", "/s", { deliveries: 500_000 })(
        "The same turn with 50 streams open, until all of them have all of it.",
      ),
      row("lag", "burst to 50 streams: lag", "ms", { p99: 150 })(
        "Each 50th chunk has the time at which the agent wrote it: how late it is at each reader.",
      ),
    ],
  },
  paced: {
    needs: ["agent"],
    rows: [
      row("paced", "paced 450/s to 50 streams: lag", "ms", { p50: 1, p99: 3 })(
        "450 chunks a second, each with its time: how late each is at each reader.",
      ),
    ],
  },
  load: {
    needs: ["agent"],
    rows: [
      row("live", "load 200 turns: live", "ms", { p50: 8 })(
        "POST /session/:id/load of a live session of turns of 8 chunks, to the last byte.",
      ),
      row("closed", "load 200 turns: closed", "ms", { p50: 10 })(
        "The same, each time after a DELETE of the session.",
      ),
      row("restarted", "load 200 turns: after restart", "ms", { p50: 10 })(
        "The same as the first request for a session to a server that has answered /health.",
      ),
    ],
  },
  memory: {
    needs: ["process"],
    rows: [
      row("boot", "memory at boot", "MB", { resident: 70 })(
        "Resident memory of the server's process, without agents, 3 s after its first answer.",
      ),
      row("held", "memory per live session", "MB", { idle: 0.02, "after a turn": 0.03 })(
        "What 500 sessions add to heaps and buffers after a collection; then a turn of each.",
      ),
      row("resident", "memory per session, resident", "MB", { idle: null, "after a turn": null })(
        "What the same sessions add to the resident memory.",
      ),
    ],
  },
  crowd: {
    needs: ["agent"],
    rows: [
      row("crowd", "100 first prompts at once", "ms", { p99: 250, all: null })(
        "New sessions, a stream each, prompted in one moment: p99 to the verdict, and creates too.",
      ),
    ],
  },
  branch: {
    needs: ["agent", "process"],
    rows: [
      row("branch", "branch of 10,000 turns", "s", { p50: 0.2 })(
        "POST /session/:id/branch of a live session; the store repeated a turn to make its source.",
      ),
    ],
  },
} as const satisfies Readonly<Record<string, RowGroup>>;

export type GroupName = keyof typeof GROUPS;
export type RowId = (typeof GROUPS)[GroupName]["rows"][number]["id"];
export type Row = AnyRow & { readonly id: RowId };

export const GROUP_NAMES: readonly GroupName[] = Object.keys(GROUPS).filter(isGroupName);
export const ALL_ROWS: readonly Row[] = GROUP_NAMES.flatMap((name) => rowsOf(name));

export function isGroupName(name: string): name is GroupName {
  return Object.hasOwn(GROUPS, name);
}

export function rowsOf(name: GroupName): readonly Row[] {
  return GROUPS[name].rows;
}

export function needs(name: GroupName, need: Need): boolean {
  const all: readonly Need[] = GROUPS[name].needs;
  return all.includes(need);
}

export function isMet(unit: Unit, figure: number, goal: number): boolean {
  return unit === "/s" ? figure >= goal : figure <= goal;
}

function row<Id extends string>(
  id: Id,
  name: string,
  unit: Unit,
  goals: Readonly<Record<string, number | null>>,
) {
  const figures = Object.entries(goals).map(([figure, goal]) => ({ name: figure, goal }));
  return (method: string) => ({ id, name, unit, figures, method });
}

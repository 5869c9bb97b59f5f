// P4 rests on tables that are complete by type: a new status, command or event must not compile
// until every cell about it has been decided. Here that is tried out, on copies of the core.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "./house/files.ts";
import { isTest } from "./house/layers.ts";
import { runNode } from "./house/run.ts";

/** A text in a file of the core that stands there exactly once, and what to put in its place. */
type Edit = readonly [path: string, found: string, replacement: string];

interface Addition {
  readonly what: string;
  readonly edits: readonly Edit[];
  /** Declarations that must be among those that no longer compile. */
  readonly places: readonly string[];
}

const PAUSED_STATE: Edit = ["status.ts", "SESSION_STATES = [", 'SESSION_STATES = [\n  "paused",'];

const ADDITIONS: readonly Addition[] = [
  {
    what: "a session state",
    edits: [PAUSED_STATE],
    places: ["status.ts: VALID_TRANSITIONS", "session/admission.ts: row"],
  },
  {
    what: "a session state's column",
    edits: [
      PAUSED_STATE,
      [
        "session/admission.ts",
        "  error: Cell,\n): AdmissionRow {",
        "  error: Cell,\n  paused: Cell,\n): AdmissionRow {",
      ],
      ["session/admission.ts", "    error,\n  };", "    error,\n    paused,\n  };"],
    ],
    places: ["status.ts: VALID_TRANSITIONS", "session/admission.ts: ADMISSION"],
  },
  {
    what: "a condition beside the states",
    edits: [["session/admission.ts", "type Condition = ", 'type Condition = "lent" | ']],
    places: ["session/admission.ts: row"],
  },
  {
    what: "an agent status",
    edits: [["status.ts", "AGENT_STATUSES = [", 'AGENT_STATUSES = [\n  "paused",']],
    places: ["status.ts: TARGETS", "session/decide/agent.ts: REPORTS"],
  },
  {
    what: "a phase",
    edits: [["lifecycle.ts", "PHASES = [", 'PHASES = ["Paused", ']],
    places: ["lifecycle.ts: PHASE_AFTER"],
  },
  {
    what: "a lifecycle event",
    edits: [["lifecycle.ts", "LIFECYCLE_EVENTS = [", 'LIFECYCLE_EVENTS = [\n  "SessionPaused",']],
    places: ["lifecycle.ts: PHASE_AFTER"],
  },
  {
    what: "a field of the turn",
    edits: [
      ["turn.ts", "interface TurnState {", "interface TurnState {\n  readonly pausedAt: number;"],
    ],
    places: ["turn.ts: EMPTY_TURN"],
  },
  {
    what: "a command",
    edits: [
      [
        "session/command.ts",
        "interface CommandData {",
        "interface CommandData {\n  pause: object;",
      ],
    ],
    places: ["session/admission.ts: ADMISSION", "session/decide.ts: DECIDERS"],
  },
  {
    what: "an event",
    edits: [["session/event.ts", "    Announcements {", "    Announcements {\n  paused: object;"]],
    places: ["session/event-table.ts: EVENT_TABLE"],
  },
  {
    what: "an announcement",
    edits: [
      [
        "session/event.ts",
        "interface Announcements {",
        "interface Announcements {\n  paused: object;",
      ],
    ],
    places: ["session/event-table.ts: EVENT_TABLE"],
  },
  {
    what: "an approval mode",
    edits: [["policy/risk.ts", "APPROVAL_MODES = [", 'APPROVAL_MODES = ["paused", ']],
    places: ["policy/risk.ts: MEANINGS"],
  },
  {
    what: "a security mode",
    edits: [["policy/risk.ts", "type SecurityMode = ", 'type SecurityMode = "paused" | ']],
    places: ["policy/gate.ts: MODE_SAYS"],
  },
  {
    what: "an autonomy profile",
    edits: [["policy/risk.ts", "type AutonomyProfile = ", 'type AutonomyProfile = "paused" | ']],
    places: ["policy/risk.ts: REACH"],
  },
  {
    what: "a mediation policy",
    edits: [["policy/ask.ts", "MEDIATION_POLICIES = [", 'MEDIATION_POLICIES = [\n  "dice",']],
    places: ["policy/ask.ts: COUNTS"],
  },
  {
    what: "a way to let an instance go",
    edits: [["session/reason.ts", "STOP_REASONS = [", 'STOP_REASONS = [\n  "paused",']],
    places: ["session/decide/instance.ts: ENDS_TURN"],
  },
  {
    what: "a reason to stop a turn",
    edits: [["session/reason.ts", "type StopCause = ", 'type StopCause = "paused" | ']],
    places: ["session/decide/stop.ts: STOPPED"],
  },
];

const TSC_MS_MAX = 60_000;

let world: string;

beforeAll(() => {
  world = mkdtempSync(join(tmpdir(), "fermata-completeness-"));
});

afterAll(() => rmSync(world, { recursive: true }));

/** A copy of the core without its tests, under the compiler options of this repository. */
function copyOfCore(): string {
  const folder = mkdtempSync(join(world, "copy-"));
  cpSync(join(ROOT, "src/core"), join(folder, "core"), {
    recursive: true,
    filter: (path) => !isTest(path),
  });
  const options = { types: [] }; // The core uses nothing of Node, and the copy has no packages.
  const config = { extends: join(ROOT, "tsconfig.json"), compilerOptions: options };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ ...config, include: ["core"] }));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  return folder;
}

function apply(folder: string, [path, found, replacement]: Edit): void {
  const file = join(folder, "core", path);
  const parts = readFileSync(file, "utf8").split(found);
  expect(parts, `${path} must have "${found}" exactly once`).toHaveLength(2);
  writeFileSync(file, parts.join(replacement));
}

async function compile(folder: string) {
  const args = ["node_modules/typescript/bin/tsc", "-p", folder, "--pretty", "false"];
  const { exitCode, stdout } = await runNode(args);
  const errors = [...stdout.matchAll(/^.*\/core\/(.+?)\((\d+),\d+\): error/gm)];
  const places = errors.map(([, path = "", line]) => {
    return `${path}: ${declarationAt(join(folder, "core", path), Number(line))}`;
  });
  return { exitCode, stdout, places };
}

/** The top-level declaration that a line belongs to: the last one that begins at or above it. */
function declarationAt(file: string, line: number): string {
  const above = readFileSync(file, "utf8").split("\n").slice(0, line).join("\n");
  const begun = above.matchAll(/^(?:export )?(?:const|function|class|interface|type) (\w+)/gm);
  return [...begun].at(-1)?.[1] ?? "";
}

describe("P4: a copy of the core", () => {
  it.concurrent(
    "compiles as long as nothing is added to it",
    async () => {
      const { exitCode, stdout } = await compile(copyOfCore());
      expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "" });
    },
    TSC_MS_MAX,
  );

  it.concurrent.each(ADDITIONS)(
    "does not compile with $what that nobody decided",
    async (addition) => {
      const folder = copyOfCore();
      for (const edit of addition.edits) apply(folder, edit);
      const { exitCode, places } = await compile(folder);
      expect(exitCode).not.toBe(0);
      expect(places).toEqual(expect.arrayContaining([...addition.places]));
    },
    TSC_MS_MAX,
  );
});

import {
  COMMAND_TYPES,
  ERRORS,
  EVENT_TYPES,
  SESSION_STATES,
  VALID_TRANSITIONS,
} from "../core/index.ts";

/** What this version contains, laid out for a terminal of 80 columns. */
export function overview(version: string): string {
  const states = SESSION_STATES.length;
  const commands = COMMAND_TYPES.length;
  const events = EVENT_TYPES.length;
  const errors = Object.keys(ERRORS).length;
  return `Fermata ${version}

An agent session server, tmux for AI agents: sessions with any agent that speaks
ACP outlive disconnects, crashes and restarts, and many clients can share one.

Built so far: the core, which decides everything and does no I/O; the stores
that remember it (memory, SQLite); the agents' side, processes and ACP, which
"fermata agents" tries out; and the runtime that hosts sessions in one process.
A session is always in one of ${states} states, and moves only along these edges:

${stateTable()}

The core answers ${commands} commands with ${events} kinds of event and ${errors} error codes.

Next comes the HTTP server; see docs/.
`;
}

function stateTable(): string {
  const width = Math.max(...SESSION_STATES.map((state) => state.length));
  const rows = SESSION_STATES.map((state) => {
    const targets = [...VALID_TRANSITIONS[state]].join(", ");
    return `  ${state.padEnd(width)}  ->  ${targets}`;
  });
  return rows.join("\n");
}

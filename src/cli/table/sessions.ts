import { EXIT_WORDS } from "./exit-codes.ts";
import { type CommandRow, SERVER_OPTIONS, text, toggle } from "./row.ts";

// Commands about sessions. A session is written as its id, the beginning of it (4 characters or
// more), its name, "-" (the newest) or "." (the newest here).

/** What the sessions' commands end with, beside 0 and 2. */
const { 1: _failed, 7: approval, 8: budget, 9: late, 130: cancelled, ...COMMON } = EXIT_WORDS;
const CODES = { 1: "it failed", ...COMMON };
const TURN_CODES = {
  ...CODES,
  1: "the turn failed",
  7: approval,
  8: budget,
  9: late,
  130: cancelled,
};

const IDS = `A session is written as its id, the beginning of it (4 characters or more), its name,
- (the session used last) or . (the one used last in this folder).
`;

/** How a new session is made. */
const CREATE_OPTIONS = {
  agent: text("NAME", "Its agent (the server's default).", { short: "a", completes: "agent" }),
  dir: text("DIR", "The folder that it works in (this one).", { short: "C", completes: "folder" }),
  model: text("ID", "Its model, as the agent names it.", { short: "m" }),
  mode: text("MODE", "What may happen unasked at all (ask).", {
    completes: ["ask", "allowlist", "yolo"],
  }),
  budget: text("CREDITS", "What it may cost in all, as in 2.50."),
};

export const NEW = {
  name: "new",
  group: "Sessions",
  line: "Make a session, and give it a first prompt.",
  usage: ["[NAME] [PROMPT] [OPTIONS]"],
  about: `Makes a session in this folder and prints its id. One word of small letters, digits and
hyphens is its name; anything else is its first prompt, which goes on in the server when
this command is over. Where no server runs, one is started.
`,
  options: { ...CREATE_OPTIONS, ...SERVER_OPTIONS },
  examples: [
    { line: "fermata new fix-login -a claude", means: "a session with a name" },
    { line: 'fermata new fix-login "Fix the failing login test"', means: "and its first prompt" },
  ],
  exitCodes: CODES,
} as const satisfies CommandRow;

export const LS = {
  name: "ls",
  aliases: ["list"],
  group: "Sessions",
  line: "List sessions: first those that ask something, then the last used.",
  usage: ["[OPTIONS]"],
  about: `Lists the sessions that you see, of all folders. What waits for a person comes first, with
what to type.
`,
  options: {
    all: toggle("Closed sessions too.", { short: "a" }),
    here: toggle("Only sessions of this folder."),
    agent: text("NAME", "Only sessions with this agent.", { completes: "agent" }),
    status: text("STATUS", "Only sessions in this state, or several with commas.", {
      completes: ["inactive", "activating", "ready", "running", "waiting", "error"],
    }),
    watch: toggle("Go on, and print each session that changes.", { short: "w" }),
    quiet: toggle("Only ids.", { short: "q" }),
    ...SERVER_OPTIONS,
  },
  examples: [
    { line: "fermata ls --status waiting", means: "what waits for a person" },
    { line: "fermata ls --here -q | xargs fermata close", means: "close all of this folder" },
  ],
  exitCodes: CODES,
} as const satisfies CommandRow;

export const SEND = {
  name: "send",
  group: "Sessions",
  line: "Send a prompt to a session.",
  usage: ["ID PROMPT... | - [OPTIONS]"],
  about: `Sends a prompt, and shows its turn in a terminal; elsewhere it comes back when the prompt
is stored, and prints its id. Ctrl-C ends only what is shown: the turn goes on.

${IDS}`,
  options: {
    wait: toggle("Show the turn, and end with its verdict.", { short: "w" }),
    "no-wait": toggle("Come back when the prompt is stored."),
    steer: toggle("Tell the turn at work, instead of a prompt of its own."),
    key: text("KEY", "Sent twice with the same key, it is one prompt."),
    ...SERVER_OPTIONS,
  },
  examples: [
    { line: 'fermata send fix-login "and add a test"', means: "by name" },
    { line: "git diff | fermata send - -", means: "from a pipe, to the session used last" },
  ],
  exitCodes: TURN_CODES,
  completes: ["session"],
} as const satisfies CommandRow;

export const RUN = {
  name: "run",
  group: "Sessions",
  line: "Run one prompt to its end, for scripts and CI.",
  usage: ["PROMPT... | - [OPTIONS]", "--continue [ID] PROMPT... [OPTIONS]"],
  about: `Makes a session in this folder, prompts it, and ends with the verdict. What the agent says
goes to the output, all else to the error output. Where no server runs, one is started.

Without a person an ask ends the run: one line of JSON says what was asked, the turn is
cancelled, nothing is answered for the absent person, and the exit code is 7. --approve lets
what is covered happen unasked. Ctrl-C cancels the turn.

--continue goes on with the session used last in this folder, or the one of --continue=ID.
It is refused where that session works in another folder or in another mode.
`,
  options: {
    continue: toggle("Go on with a session instead of a new one; write --continue=ID for one."),
    approve: text("WHAT", "What happens unasked: reads, writes or exec (nothing).", {
      completes: ["reads", "writes", "exec"],
    }),
    timeout: text("TIME", "Time limit of the turn, as in 20m."),
    quiet: toggle("Only what the agent says.", { short: "q" }),
    ...CREATE_OPTIONS,
    ...SERVER_OPTIONS,
  },
  examples: [
    { line: 'fermata run "Explain this repository"', means: "to the terminal" },
    { line: 'git diff | fermata run "Review this:" - --approve reads', means: "with a pipe" },
    { line: 'fermata run --continue "and now shorter"', means: "the session used last here" },
  ],
  exitCodes: TURN_CODES,
} as const satisfies CommandRow;

export const ASKS = {
  name: "asks",
  group: "Sessions",
  line: "List what waits for a person, in all sessions.",
  usage: ["[OPTIONS]"],
  about: `Lists the open asks of all sessions that you see, with what to type.
`,
  options: { ...SERVER_OPTIONS },
  exitCodes: CODES,
} as const satisfies CommandRow;

const ANSWER = `ASK is its id, the beginning of it, or the session that asks. Another person may be
faster: then the command fails, and says so.
`;

export const APPROVE = {
  name: "approve",
  group: "Sessions",
  line: "Allow what an agent asks for.",
  usage: ["ASK|SESSION [--always] [--option ID]"],
  about: `Allows it once; with --always also what is like it, for the rest of the session.

${ANSWER}`,
  options: {
    always: toggle("Also what is like it, for the rest of the session."),
    option: text("ID", "Another of its options; fermata asks --json lists them."),
    ...SERVER_OPTIONS,
  },
  examples: [{ line: "fermata approve fix-login", means: "the only ask of that session" }],
  exitCodes: CODES,
  completes: ["ask"],
} as const satisfies CommandRow;

export const DENY = {
  name: "deny",
  group: "Sessions",
  line: "Refuse what an agent asks for.",
  usage: ["ASK|SESSION"],
  about: `Refuses it. The turn goes on without it where the agent offers that, and else ends.

${ANSWER}`,
  options: { ...SERVER_OPTIONS },
  exitCodes: CODES,
  completes: ["ask"],
} as const satisfies CommandRow;

export const CANCEL = {
  name: "cancel",
  group: "Sessions",
  line: "Cancel the turn of a session.",
  usage: ["ID [--all]"],
  about: `Cancels the turn at work. Prompts that wait go on; with --all they are cancelled too.

${IDS}`,
  options: { all: toggle("Also the prompts that wait."), ...SERVER_OPTIONS },
  exitCodes: CODES,
  completes: ["session"],
} as const satisfies CommandRow;

export const QUEUE = {
  name: "queue",
  group: "Sessions",
  line: "List the prompts of a session that have no verdict yet.",
  usage: ["ID", "ID rm PROMPT"],
  about: `Lists the prompt at work and those that wait, or cancels one of them.

${IDS}`,
  options: { ...SERVER_OPTIONS },
  exitCodes: CODES,
  completes: ["session", ["rm"]],
} as const satisfies CommandRow;

export const WAIT = {
  name: "wait",
  group: "Sessions",
  line: "Wait until sessions are idle, or until one asks something.",
  usage: ["ID... [--for idle|ask] [--timeout TIME]"],
  about: `Waits until each of the sessions has no prompt at work and none that waits; with --for ask
until one of them waits for a person, or all are idle.

${IDS}`,
  options: {
    for: text("WHAT", "idle, or ask (idle).", { default: "idle", completes: ["idle", "ask"] }),
    timeout: text("TIME", "How long at most, as in 20m."),
    ...SERVER_OPTIONS,
  },
  exitCodes: { ...CODES, 9: late, 130: cancelled },
  completes: ["session"],
} as const satisfies CommandRow;

export const LOGS = {
  name: "logs",
  group: "Sessions",
  line: "Print what has happened in a session, and what happens.",
  usage: ["ID [-f] [--since EVENT]", "--server [-f]"],
  about: `Prints the conversation with what the agent did, from the session's log. --json prints
each event as it is stored and sent. --server prints the log of the server of this machine.

${IDS}`,
  options: {
    follow: toggle("Go on with what happens, until Ctrl-C.", { short: "f" }),
    since: text("EVENT", "Only events after this number."),
    server: toggle("The log of the server in the background, instead of a session's."),
    ...SERVER_OPTIONS,
  },
  examples: [{ line: "fermata logs . -f", means: "what happens here" }],
  exitCodes: CODES,
  completes: ["session"],
} as const satisfies CommandRow;

export const SHOW = {
  name: "show",
  group: "Sessions",
  line: "Show all there is to know of a session.",
  usage: ["ID [--json]"],
  about: `Shows its state, agent, settings, clients, asks and cost. It starts no agent.

${IDS}`,
  options: { ...SERVER_OPTIONS },
  exitCodes: CODES,
  completes: ["session"],
} as const satisfies CommandRow;

export const RENAME = {
  name: "rename",
  group: "Sessions",
  line: "Give a session another name or title.",
  usage: ["ID NAME", "ID TITLE"],
  about: `One word of small letters, digits and hyphens is its name, by which commands know it.
Anything else is its title, which is free text; an empty one takes it away.

${IDS}`,
  options: { ...SERVER_OPTIONS },
  exitCodes: CODES,
  completes: ["session"],
} as const satisfies CommandRow;

export const FORK = {
  name: "fork",
  group: "Sessions",
  line: "Make a session that goes on from another one.",
  usage: ["ID [TITLE] [--at TURN]"],
  about: `Prints the id of the new session. The other one stays as it is.

${IDS}`,
  options: {
    at: text("TURN", "After this turn, by the id of its prompt (the last)."),
    ...SERVER_OPTIONS,
  },
  exitCodes: CODES,
  completes: ["session"],
} as const satisfies CommandRow;

export const CLOSE = {
  name: "close",
  group: "Sessions",
  line: "Close sessions for all their clients; they stay stored.",
  usage: ["ID..."],
  about: `A closed session can be brought back: fermata run --continue=ID.

${IDS}`,
  options: { ...SERVER_OPTIONS },
  exitCodes: CODES,
  completes: ["session"],
} as const satisfies CommandRow;

export const RM = {
  name: "rm",
  group: "Sessions",
  line: "Delete sessions with all that is stored of them.",
  usage: ["ID... [--dry-run]", "--older-than TIME [--dry-run]"],
  about: `Deletes sessions for good. --older-than takes all that were not used for so long and are
not at work; look at them first with --dry-run.

${IDS}`,
  options: {
    "older-than": text("TIME", "All that were not used for so long, as in 30d."),
    "dry-run": toggle("Only say which."),
    ...SERVER_OPTIONS,
  },
  exitCodes: CODES,
  completes: ["session"],
} as const satisfies CommandRow;

export const EXPORT = {
  name: "export",
  group: "Sessions",
  line: "Write a session's conversation to a file.",
  usage: ["ID [-f FORMAT] [-o FILE]"],
  about: `Prints the whole conversation, or writes it to a file that only you can read.

${IDS}`,
  options: {
    format: text("FORMAT", "md, html, json or jsonl (md).", {
      short: "f",
      default: "md",
      completes: ["md", "html", "json", "jsonl"],
    }),
    output: text("FILE", "Where to; it must not exist (the output).", {
      short: "o",
      completes: "file",
    }),
    ...SERVER_OPTIONS,
  },
  exitCodes: CODES,
  completes: ["session"],
} as const satisfies CommandRow;

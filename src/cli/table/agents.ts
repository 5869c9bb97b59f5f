import { type CommandRow, JSON_OPTION, text, toggle } from "./row.ts";

// Commands about agents and extensions.

/** The options by which an agent is started as a server would start it. */
export const AGENT_START_OPTIONS = {
  "agent-env": text("NAME", "A further variable that the agent gets; may be repeated.", {
    multiple: true,
  }),
  "agent-user": text("NAME|UID:GID", 'As that of "fermata serve".'),
  "agent-home": text("DIR", 'As that of "fermata serve".', { completes: "folder" }),
  "agent-homes": text("DIR", 'As that of "fermata serve". Homes count with --tenant or --user.', {
    completes: "folder",
  }),
  "secrets-dir": text(
    "DIR",
    "Look for its secrets there, as a server would (FERMATA_SECRETS_DIR, or secrets-dir in " +
      "config.json). No value is ever printed.",
    { completes: "folder" },
  ),
  tenant: text("TENANT", "Whose secrets (those of the tenant local)."),
  user: text("USER", "Whose secrets, within the tenant."),
};

/** Those of a look at one agent. */
export const AGENT_LOOK_OPTIONS = {
  "sign-in": toggle(
    "Run the agent's own sign-in in this terminal, with the environment, user and home that " +
      "a server with the same options gives to the agent.",
  ),
  method: text("ID", "Which one, if the agent has several."),
  ...AGENT_START_OPTIONS,
};

/** Those of a question about the agents of a running server. */
export const AGENT_SERVER_OPTIONS = {
  cwd: text("DIR", 'The workspace of "sessions" and "adopt" (the server\'s first one).', {
    completes: "folder",
  }),
  url: text("URL", "Address of the server (http://127.0.0.1:4170, or FERMATA_URL)."),
  token: text("TOKEN", "Your token (FERMATA_TOKEN)."),
};

export const AGENTS = {
  name: "agents",
  group: "Agents and extensions",
  line: "List the known agents, try one, or sign in to it.",
  usage: [
    '[NAME or "COMMAND ARGUMENTS"] [OPTIONS]',
    "NAME --sign-in [--method ID] [OPTIONS]",
    "ps | logs NAME | restart NAME | trace FILE [--url URL]",
    "sessions NAME | adopt NAME ID | sign-out NAME [--cwd DIR] [--url URL]",
  ],
  about: `Without a name, lists the agents that Fermata knows, and which are installed. With a
name, starts that agent, makes a session, prints what it offers, which secrets it has
and what is missing, and ends it. It sends no prompt, so a wrong key is not noticed.

Your own agents are in agents.json in ~/.fermata (or FERMATA_HOME); see docs/agents.md.

About a running server, for an owner of the tenant:
  ps             List the processes of its agents.
  logs NAME      Print the error output of an agent's processes.
  restart NAME   Give no more sessions to an agent's processes: unused ones end at
                 once, the others with their last session.
  sessions NAME  List the sessions that an agent has made without the server, in a
                 workspace. Only for the operator, or in a home of your own.
  adopt NAME ID  Make a session that goes on from one of these. For the same callers.
  sign-out NAME  Sign an agent out, where it offers that. For the same callers.
  trace FILE     Write every line to and from agents into FILE until Ctrl-C.
`,
  options: {
    ...AGENT_LOOK_OPTIONS,
    ...AGENT_SERVER_OPTIONS,
  },
  examples: [
    { line: "fermata agents qwen", means: "whether it starts, and what it lacks" },
    { line: "fermata agents ps", means: "which of them run" },
  ],
  completes: ["agent"],
} as const satisfies CommandRow;

export const EXTENSIONS = {
  name: "extensions",
  group: "Agents and extensions",
  line: "List the extensions of sessions; write and check your own.",
  usage: [
    "list [--workspace DIR] [--json]",
    "new NAME [--typescript]",
    "check PATH [--config JSON] [--slot FILE] [--json]",
  ],
  about: `Lists the extensions that sessions of a workspace have, or could have, and helps authors
with theirs; see docs/extensions.md.

  list           Each with its version, where it is from, whether its code is trusted, and
                 whether it is on. Below the table: why one is not loaded, and what to do.
  new            Write a working extension with a test into the folder NAME.
  check          Say all that is wrong with the extension in the folder PATH. This runs its
                 code, in a session of its own with an empty workspace.
`,
  options: {
    workspace: text("DIR", "The workspace (that of the server's options, else this directory).", {
      completes: "folder",
    }),
    "extension-config": text("FILE", 'As that of "fermata serve" (~/.fermata/extensions.json).', {
      completes: "file",
    }),
    typescript: toggle("Write it in TypeScript, which Node runs from 22.18 on."),
    config: text("JSON", "Check it with this configuration ({})."),
    slot: text(
      "FILE",
      'Check that it takes this slot of an older version: {"version": "1.0.0", "value": ...}',
      { completes: "file" },
    ),
    ...JSON_OPTION,
  },
  completes: [["list", "new", "check"], "folder"],
} as const satisfies CommandRow;

export const WORKFLOWS = {
  name: "workflows",
  group: "Agents and extensions",
  line: "List the workflows of sessions; write and check your own.",
  usage: ["list [--workspace DIR] [--json]", "check FILE [--mermaid | --json]", "new NAME"],
  about: `Lists the workflows that sessions of a workspace can have, and helps authors with theirs;
see docs/workflows.md. In a session, /workflow start NAME begins one.

  list           Each with where it is from, and whether it can be started. Below the table:
                 why one cannot, and what to do.
  check          Say all that is wrong with the workflow in FILE, with line and column; if
                 nothing is, draw it.
  new            Write a working workflow with a test into the folder NAME.
`,
  options: {
    workspace: text("DIR", "The workspace (that of the server's options, else this directory).", {
      completes: "folder",
    }),
    mermaid: toggle("Draw it as a Mermaid flowchart."),
    ...JSON_OPTION,
  },
  completes: [["list", "check", "new"], "file"],
} as const satisfies CommandRow;

export const TRUST = {
  name: "trust",
  group: "Agents and extensions",
  line: "Let the code of an extension run, or a workflow, by its content.",
  usage: ["PATH", "--list", "--remove ID"],
  about: `Lets the code of an extension run: PATH is its folder. Code is trusted by its content,
with each file of the folder, so when any of it changes it has to be trusted again. Look
at what others wrote before: an extension may do on this machine what the server may.
Sessions that begin from then on have it; see docs/extensions.md.

For a workflow of a workspace PATH is its file, .fermata/workflows/NAME.yaml. It says what
agents are told, and which commands the server runs; see docs/workflows.md.
`,
  options: {
    list: toggle("List what is trusted, and whether it is still what is there."),
    remove: text("ID", "Trust no code of this extension any more; NAME.yaml is a workflow."),
  },
  completes: ["file"],
} as const satisfies CommandRow;

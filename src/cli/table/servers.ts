import { type CommandRow, JSON_OPTION, SERVER_OPTIONS, text, toggle } from "./row.ts";

// Commands about servers: to start one, to find one, and to sign in to one.

export const SERVE = {
  name: "serve",
  group: "Servers",
  line: "Serve sessions over HTTP. Without a command, fermata does this.",
  usage: ["[OPTIONS]"],
  about: `Serves sessions over HTTP and Server-Sent Events, until Ctrl-C. After Ctrl-C, SIGTERM or
SIGHUP (a closed terminal) it lets turns finish and stops; after a second one it stops at
once. All sessions are kept, and are there again with the next start.

Each option can also be set by a variable (FERMATA_MAX_SESSIONS for
--max-sessions) or under its name in config.json in ~/.fermata (or FERMATA_HOME):
  { "agent": "qwen", "port": 4180, "workspace": ["/srv/app", "/srv/site"] }
A flag overrides the variable, and the variable overrides the file. A switch is turned
off by --no-NAME.

All options, with more words: docs/protocol.md. To run it for others: docs/operations.md.
`,
  options: {
    detach: toggle("Serve in the background, and come back when it listens.", { short: "d" }),
  },
  moreOptions: "serve",
  examples: [
    { line: "fermata", means: "this directory, with the agent echo, for a look" },
    {
      line: "fermata --agent qwen --workspace ~/app",
      means: "another directory, with an agent",
    },
    { line: "fermata serve -d", means: "in the background, until: fermata stop" },
    { line: "fermata -p 0", means: "any free port, which is printed" },
    {
      line: 'fermata --agent-command "my-agent --acp"',
      means: "an agent of your own that speaks ACP",
    },
    {
      line: "fermata --hostname 0.0.0.0 --token-file ~/token",
      means: "for other machines, too",
    },
    {
      line: "fermata tokens create --user ada --role owner",
      means: "a token for a person; then all callers need one",
    },
  ],
  exitCodes: { 1: "it could not start", 130: "it was stopped before it was up" },
} as const satisfies CommandRow;

export const STOP = {
  name: "stop",
  group: "Servers",
  line: "Stop the server of this machine, after its turns.",
  usage: ["[--all]"],
  about: `Ends the server that commands would use on this machine, as Ctrl-C does: turns at work may
finish first, for as long as the server was told to wait (serve --drain-ms). All sessions
are kept. Waits until it is gone.
`,
  options: { all: toggle("Stop every server that you run on this machine.") },
  exitCodes: { 9: "it is still there", 6: "it is another user's" },
} as const satisfies CommandRow;

export const RESTART = {
  name: "restart",
  group: "Servers",
  line: "Stop the server of this machine, and start it again as it was.",
  usage: [""],
  about: `Stops the server as "fermata stop" does and starts it in the background, with the options
and in the folder that it had. One that was given --token has to be started by you: a
token is not kept. Options that it had from variables are read from yours: if one is not
set, or if callers would need no token any more, it is left running, and you are told.
`,
  options: {},
  exitCodes: { 3: "none runs, or it did not start again" },
} as const satisfies CommandRow;

export const STATUS = {
  name: "status",
  group: "Servers",
  line: "Show which server commands use, and how it is.",
  usage: ["[OPTIONS]"],
  about: `Shows the server that commands use from here, by which way it was found, and how it is.
`,
  options: { ...SERVER_OPTIONS },
  exitCodes: { 3: "there is none, or no way to it", 6: "the token is missing or wrong" },
} as const satisfies CommandRow;

export const LOGIN = {
  name: "login",
  group: "Servers",
  line: "Sign in to a server, and use it from now on.",
  usage: ["URL [--name NAME] [--token-file FILE]"],
  about: `Tries the address and the token, and keeps both in ~/.fermata/contexts.json, which only
you can read. Without --token-file the token is asked for in the terminal; it is never an
argument, where other users of the machine would see it.
`,
  options: {
    name: text("NAME", "What the context is called (the host)."),
    "token-file": text("FILE", "File with the token, or - for the input.", { completes: "file" }),
    insecure: toggle("Allow plain http to another machine: others on the way can read the token."),
  },
  examples: [
    { line: "fermata login https://agents.example.org", means: "asks for the token" },
    { line: "pass show agents | fermata login URL --token-file -", means: "from another program" },
  ],
  exitCodes: { 3: "there is no server", 5: "it is of another version", 6: "the token is wrong" },
} as const satisfies CommandRow;

export const COMPLETION = {
  name: "completion",
  group: "Servers",
  line: "Print what makes your shell complete commands, options and sessions.",
  usage: ["bash|zsh|fish"],
  about: `Prints a script for the shell. It completes commands, options, sessions, asks, agents and
contexts; the server is asked for 150 ms at most.
`,
  options: {},
  examples: [
    { line: 'eval "$(fermata completion bash)"', means: "in ~/.bashrc" },
    { line: 'eval "$(fermata completion zsh)"', means: "in ~/.zshrc, after compinit" },
    { line: "fermata completion fish | source", means: "in ~/.config/fish/config.fish" },
  ],
  completes: [["bash", "zsh", "fish"]],
} as const satisfies CommandRow;

export const CONTEXT = {
  name: "context",
  group: "Servers",
  line: "List the servers that you have signed in to, and choose one.",
  usage: ["ls [--json]", "use NAME|local", "rm NAME"],
  about: `A context is a server with a token. The one in use counts for every command that names no
other; "local" is the server of this machine. "rm" forgets the token here; to make it
worthless use "fermata tokens revoke".
`,
  options: { ...JSON_OPTION },
  exitCodes: { 4: "there is no such context" },
  completes: [["ls", "use", "rm"], "context"],
} as const satisfies CommandRow;

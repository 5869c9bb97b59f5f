import { OPTION_NAMES, OPTIONS, type OptionName, variableOf } from "./options.ts";

const USAGE = `Usage: fermata serve [OPTIONS]
       fermata [OPTIONS]

Serves sessions over HTTP and Server-Sent Events, until Ctrl-C. After Ctrl-C, SIGTERM or
SIGHUP (a closed terminal) it lets turns finish and stops; after a second one it stops at
once. All sessions are kept, and are there again with the next start.

Examples:
  fermata                                 this directory, with the agent echo, for a look
  fermata --agent qwen --workspace ~/app  another directory, with an agent
  fermata -p 0                            any free port, which is printed
  fermata --agent-command "my-agent --acp"
                                          an agent of your own that speaks ACP
  fermata --hostname 0.0.0.0 --token-file ~/token
                                          for other machines, too
  fermata tokens create --user ada --role owner
                                          a token for a person; then all callers need one

Each option can also be set by a variable (${variableOf("max-sessions")} for
--max-sessions) or under its name in config.json in ~/.fermata (or FERMATA_HOME):
  { "agent": "qwen", "port": 4180, "workspace": ["/srv/app", "/srv/site"] }
A flag overrides the variable, and the variable overrides the file. A switch is turned
off by --no-NAME.

All options, with more words: docs/protocol.md. To run it for others: docs/operations.md.

Options (defaults in parentheses):
`;

const ALWAYS = `
  -h, --help
        Print this help
  -V, --version
        Print the version
`;

/** The headings of the help, by the option below each. */
const HEADINGS: Partial<Record<OptionName, string>> = {
  hostname: "Network and access",
  workspace: "Sessions",
  "event-ring-size": "Events",
  agent: "Agents",
  prices: "Credits",
  store: "Storage and log",
};

/** The help of `fermata serve`. */
export function serveHelp(): string {
  return USAGE + OPTION_NAMES.map(optionText).join("") + ALWAYS;
}

function optionText(name: OptionName): string {
  const { placeholder, short, help } = OPTIONS[name];
  const heading = HEADINGS[name];
  const flag = `${short === null ? "" : `-${short}, `}--${name}`;
  const value = placeholder === null ? "" : ` ${placeholder}`;
  return `${heading === undefined ? "" : `\n${heading}:\n`}  ${flag}${value}\n        ${help}\n`;
}

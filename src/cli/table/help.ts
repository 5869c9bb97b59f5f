import {
  COMMAND_GROUPS,
  type CommandRow,
  type Example,
  HELP_OPTION,
  type OptionRow,
} from "./row.ts";
import { ROWS } from "./table.ts";

const INTRODUCTION = `Usage: fermata [COMMAND] [OPTIONS]

An agent session server, tmux for AI agents. Sessions work with any agent that speaks
ACP, and survive disconnects, crashes and restarts. Many clients can share one.
`;

const EXAMPLES: readonly Example[] = [
  { line: "fermata", means: "serve this directory with the agent echo, for a look" },
  { line: "fermata agents", means: "which agents are installed, and how to get the others" },
  { line: "fermata --agent qwen", means: "serve this directory with an agent" },
  { line: "fermata -p 0 --workspace ~/app", means: "serve another one, on any free port" },
];

/** The list of all commands. */
export function overview(): string {
  const width = Math.max(...ROWS.map(({ name }) => name.length));
  const groups = COMMAND_GROUPS.map((group) => {
    const lines = ROWS.filter((row) => row.group === group).map(
      ({ name, line }) => `  ${name.padEnd(width)}  ${line}\n`,
    );
    return lines.length === 0 ? "" : `\n${group}:\n${lines.join("")}`;
  });
  const options = {
    ...{ help: { ...HELP_OPTION.help, help: 'Print this; "fermata COMMAND --help" says more.' } },
    version: { type: "boolean", short: "V", value: "", help: "Print the version." },
  } as const;
  return `${INTRODUCTION}${groups.join("")}${optionsText(options)}${examplesText(EXAMPLES)}`;
}

/** All there is to know of one command. */
export async function helpOf(row: CommandRow): Promise<string> {
  const parts = [
    usageText(row),
    `\n${row.about}`,
    optionsText({ ...row.options, ...HELP_OPTION }),
    examplesText(row.examples ?? []),
    exitCodesText(row),
    row.moreOptions === "serve" ? (await import("../serve/options.ts")).serveOptionsText() : "",
  ];
  return parts.join("");
}

function usageText({ name, aliases = [], usage }: CommandRow): string {
  const lines = usage.map((rest, at) => {
    return `${at === 0 ? "Usage:" : "      "} fermata ${name} ${rest}`.trimEnd();
  });
  const also = aliases.length === 0 ? [] : [`Also: fermata ${aliases.join(", ")}`];
  return `${[...lines, ...also].join("\n")}\n`;
}

function optionsText(options: Readonly<Record<string, OptionRow>>): string {
  const heads = Object.entries(options).map(([name, { short, value }]) => {
    const flag = `${short === undefined ? "" : `-${short}, `}--${name}`;
    return value === "" ? flag : `${flag} ${value}`;
  });
  const lines = Object.values(options).map(({ help }, at) => columns(heads[at] ?? "", help));
  return `\nOptions:\n${lines.join("")}`;
}

const COLUMNS = 90;

/** Where the words of options begin; a longer head has a line of its own. */
const HEAD_COLUMNS = 17;

function columns(head: string, help: string): string {
  const indent = " ".repeat(HEAD_COLUMNS);
  const first = `  ${head}`;
  const isLong = first.length > HEAD_COLUMNS - 2;
  const text = wrapped(help, COLUMNS - HEAD_COLUMNS).join(`\n${indent}`);
  return `${isLong ? `${first}\n${indent}` : first.padEnd(HEAD_COLUMNS)}${text}\n`;
}

/** Lines of whole words. */
function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else lines.push(word);
  }
  return lines;
}

function examplesText(examples: readonly Example[]): string {
  if (examples.length === 0) return "";
  const width = Math.max(...examples.map(({ line }) => line.length));
  const lines = examples.map(({ line, means }) => `  ${line.padEnd(width)}  ${means}\n`);
  return `\nExamples:\n${lines.join("")}`;
}

function exitCodesText({ exitCodes = {} }: CommandRow): string {
  const entries = Object.entries(exitCodes);
  if (entries.length === 0) return "";
  const lines = entries.map(([code, means]) => `  ${code.padEnd(3)}  ${means}\n`);
  return `\nExit codes beside 0 and 2 (a wrong command line):\n${lines.join("")}`;
}

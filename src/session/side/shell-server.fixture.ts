import { writeSync } from "node:fs";
import { AgentMarks, CommandMarks } from "../../agent/process/marks.ts";
import { LocalShell } from "./local-shell.ts";

// A server that runs one shell command and is killed meanwhile. It tells what the command says.

const [marks = "", command = ""] = process.argv.slice(2);
const shell = new LocalShell(
  { PATH: process.env.PATH ?? "" },
  new CommandMarks(new AgentMarks(marks)),
);
const ears = {
  started: () => {},
  output: (text: string) => {
    writeSync(1, text);
    return undefined;
  },
};
await shell.run({ command, cwd: marks }, ears, new AbortController().signal);

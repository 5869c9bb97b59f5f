import { AgentMarks } from "../agent/process/marks.ts";
import { shellTool } from "./builtin.ts";

// A server that runs one command of the `shell` tool and is killed meanwhile.

const [marks = "", cwd = "", command = ""] = process.argv.slice(2);
const environment = { PATH: process.env.PATH ?? "" };
const shell = shellTool({ environment, marks: new AgentMarks(marks) });
await shell.run({ command }, { workspaceCwd: cwd, cwd }, new AbortController().signal);

// A server that uses an MCP server, tells which processes that has, and is killed meanwhile.

import { fileURLToPath } from "node:url";
import { AgentMarks } from "../../agent/process/marks.ts";
import { DONE } from "../../core/result.ts";
import { openTools } from "../open.ts";

const [folder = "", marks = ""] = process.argv.slice(2);
const script = fileURLToPath(new URL("stdio-server.fixture.ts", import.meta.url));
const tools = await openTools({
  servers: [
    {
      name: "s",
      type: "stdio",
      command: process.execPath,
      args: [script, "--stubborn"],
      env: {},
    },
  ],
  folder,
  env: process.env,
  marks: new AgentMarks(marks),
  secret: () => DONE,
  log: () => {},
});
const call = { name: "s:family", title: "", kind: "other", input: {}, locations: [] } as const;
const place = { workspaceCwd: folder, cwd: folder };
const { text } = await tools.run(call, place, new AbortController().signal);
process.stdout.write(text);
setInterval(() => {}, 1_000);

// Stands between a server and its agent, and writes down what each says to the other, line by line:
// `node tee.ts FILE COMMAND [ARGS…]`.

import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

const [file = "", command = "", ...args] = process.argv.slice(2);
const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
pass("server", process.stdin, agent.stdin);
pass("agent", agent.stdout, process.stdout);
agent.once("exit", (code) => process.exit(code ?? 1));
process.once("SIGTERM", () => agent.pid !== undefined && agent.kill("SIGTERM"));

function pass(from: string, input: Readable, output: Writable): void {
  const lines = createInterface({ input });
  lines.on("line", (line) => {
    appendFileSync(file, `${JSON.stringify({ from, line })}\n`);
    output.write(`${line}\n`);
  });
  lines.on("close", () => output.end());
}

// `npm start`: makes the clone ready, and runs the command on the Node that the clone brings.

import { join } from "node:path";
import { endBy, runChild } from "./child.js";
import { DEVELOPMENT_NODE, ROOT, setUp } from "./clone.js";

await setUp();
// Through the channel a server hears of it when this process is killed.
const stdio = /** @type {const} */ (["inherit", "inherit", "inherit", "ipc"]);
// Else young objects alone take 128 MB in time (docs/decisions.md, "Memory of young objects").
const node = ["--max-semi-space-size=16"];
const args = [...node, join(ROOT, "bin/fermata.js"), ...process.argv.slice(2)];
const ended = await runChild(DEVELOPMENT_NODE, args, { stdio: [...stdio] });
if (ended.signal !== null) await endBy(ended.signal);
process.exitCode = ended.code ?? 1;

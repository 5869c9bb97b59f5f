// `echo`, as if it were of another version: the first argument says which. The rest are its flags.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const ECHO = fileURLToPath(new URL("../../src/agent/builtin/echo/main.ts", import.meta.url));
const [version = "", ...flags] = process.argv.slice(2);

const echo = spawn(process.execPath, [ECHO, ...flags], { stdio: ["inherit", "pipe", "inherit"] });
createInterface({ input: echo.stdout }).on("line", (line) => {
  process.stdout.write(`${line.replace('"version":"1.0.0"', `"version":"${version}"`)}\n`);
});
echo.on("exit", (code) => process.exit(code ?? 1));

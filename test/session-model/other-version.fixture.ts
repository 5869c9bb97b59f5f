// `echo`, as if it were of another version: the arguments are its program, the version, its flags.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const [program = "", version = "", ...flags] = process.argv.slice(2);

const echo = spawn(process.execPath, [program, ...flags], {
  stdio: ["inherit", "pipe", "inherit"],
});
createInterface({ input: echo.stdout }).on("line", (line) => {
  process.stdout.write(`${line.replace('"version":"1.0.0"', `"version":"${version}"`)}\n`);
});
echo.on("exit", (code) => process.exit(code ?? 1));

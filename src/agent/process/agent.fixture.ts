import { spawn } from "node:child_process";
import { writeSync } from "node:fs";

/** A program that behaves as its first argument says. */
const BEHAVIOURS: Readonly<Record<string, () => void>> = {
  /** Ends with its input, as a good agent does. */
  obedient() {
    process.stdin.resume();
    say("ready");
  },

  /** Knows no input, and no signal that can be ignored. */
  stubborn() {
    process.on("SIGTERM", () => say("ignored"));
    setInterval(() => {}, 60_000);
    say("ready");
  },

  /** Ends when it is asked to, and not before. */
  polite() {
    process.on("SIGTERM", () => process.exit(7));
    setInterval(() => {}, 60_000);
    say("ready");
  },

  complain() {
    writeSync(2, process.argv[3] ?? "");
    process.exitCode = 3;
  },

  /** Writes a hundred times what is kept, each line numbered, and then lives on. */
  flood() {
    for (let n = 0; n < 100_000; n += 1) process.stderr.write(`line ${n} ${"x".repeat(50)}\n`);
    process.stderr.write("", () => say("ready"));
    process.stdin.resume();
  },

  environment() {
    say(JSON.stringify(process.env));
  },

  /** Has a child in its group and one that went away from it, which both outlive it. */
  family() {
    const near = spawn("sleep", ["600"], { stdio: "inherit" });
    const far = spawn("sleep", ["600"], { stdio: "inherit", detached: true });
    near.unref();
    far.unref();
    say(JSON.stringify([near.pid, far.pid]));
    if (process.argv[3] === "stay") process.stdin.resume();
    else process.exit(0);
  },

  /** Has a child that carries no mark, in another group: only its parent tells whose it is. */
  scrub() {
    const { FERMATA_AGENT_MARK: _, ...env } = process.env;
    const child = spawn("sleep", ["600"], { env, detached: true, stdio: "ignore" });
    say(JSON.stringify([child.pid]));
    setInterval(() => {}, 60_000);
  },
};

function say(line: string) {
  writeSync(1, `${line}\n`);
}

BEHAVIOURS[process.argv[2] ?? ""]?.();

// A server that has no file descriptor left, or no program to run, and is asked for exports. It
// says how they ended, how often a process that never started was signalled, and how an export ends
// once there are descriptors again.

import { ChildProcess } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { EXPORT_PROCESSES_MAX } from "../../core/limits.ts";
import { Life } from "../../core/session/life.fixture.ts";
import { SYSTEM_CLOCK } from "../../platform/clock.ts";
import { keyOf } from "../../store/sample.fixture.ts";
import { exportFile } from "./export.ts";
import { ExportProcesses } from "./process.ts";
import { sourceOf, storedLife } from "./source.fixture.ts";

const { tenantId } = keyOf("s");
const processes = new ExportProcesses(SYSTEM_CLOCK);
const life = new Life().running();
life.complete("t1");
const { source } = sourceOf(storedLife(life));

let foreignKills = 0;
const { kill } = ChildProcess.prototype;
ChildProcess.prototype.kill = function (signal) {
  if (this.pid === undefined) foreignKills += 1;
  return this.pid === undefined ? false : kill.call(this, signal);
};

async function exported(): Promise<string> {
  const { signal } = new AbortController();
  const file = await exportFile(source, "jsonl", { tenantId, userId: null, signal }, processes);
  if (!file.ok) return file.refusal.code;
  for await (const _ of file.value.pieces);
  return "written";
}

/** More than there are permits, so that one that is not given back is missed. */
async function allExported(): Promise<readonly string[]> {
  const codes = new Set<string>();
  for (let left = EXPORT_PROCESSES_MAX + 1; left > 0; left -= 1) codes.add(await exported());
  return [...codes];
}

function allDescriptors(): readonly number[] {
  const held: number[] = [];
  try {
    for (;;) held.push(openSync("/dev/null", "r"));
  } catch {
    return held;
  }
}

const held = allDescriptors();
const withoutDescriptors = await allExported();
for (const descriptor of held) closeSync(descriptor);
const { execPath } = process;
process.execPath = "/nowhere/node";
const withoutProgram = await allExported();
process.execPath = execPath;
const afterwards = await exported();
const { counts } = processes;
const seen = { withoutDescriptors, withoutProgram, foreignKills, afterwards, counts };
process.stdout.write(JSON.stringify(seen));

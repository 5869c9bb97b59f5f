import { fileURLToPath } from "node:url";
import { profileOf } from "../profile/profile.ts";
import { type AgentMark, AgentMarks } from "./marks.ts";
import { AgentProcess } from "./process.ts";

/**
 * A server that starts agents and dies, at a moment that is chosen for it by its first argument or
 * by a signal. The others are its folder of marks and the variable for its agents.
 */
const [, , moment, folder = "", world = ""] = process.argv;

class MortalMarks extends AgentMarks {
  override async record(marker: string, profile: string): Promise<AgentMark> {
    if (moment === "before the mark") die();
    const mark = await super.record(marker, profile);
    if (moment === "between mark and spawn") die();
    return mark;
  }

  override async confirm(mark: AgentMark, pid: number): Promise<AgentMark> {
    if (moment === "right after the spawn") die();
    const confirmed = await super.confirm(mark, pid);
    if (moment === "when all is written") die();
    return confirmed;
  }
}

function die() {
  process.kill(process.pid, "SIGKILL");
  // The system takes its time to kill a process with many threads; nothing happens meanwhile.
  for (;;);
}

const script = fileURLToPath(new URL("agent.fixture.ts", import.meta.url));
const env = { FERMATA_TEST_WORLD: world };
const profiles = [
  profileOf({ name: "simple", command: "sleep", args: ["600"], env }),
  profileOf({ name: "family", command: process.execPath, args: [script, "family", "stay"], env }),
  profileOf({ name: "deserted", command: process.execPath, args: [script, "family"], env }),
  profileOf({ name: "stubborn", command: process.execPath, args: [script, "stubborn"], env }),
];
const marks = new MortalMarks(folder);
process.stdout.write("begins\n");
for (const profile of moment === "when it is killed" ? profiles : profiles.slice(0, 1)) {
  const started = await AgentProcess.start({ profile, cwd: "/", marks, env: process.env });
  if (!started.ok) throw new Error(JSON.stringify(started.refusal));
  started.value.stdout.resume();
}
process.stdout.write("started\n");
setInterval(() => {}, 60_000);

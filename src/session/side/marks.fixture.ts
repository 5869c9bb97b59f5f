import { randomUUID } from "node:crypto";
import { AGENT_MARK_VARIABLE } from "../../agent/process/environment.ts";
import { AgentMarks } from "../../agent/process/marks.ts";
import type { ShellMarks } from "./shell-runner.ts";

/** The marks of agents, for shell commands: what ends the orphans of the one ends the other's. */
export function shellMarks(folder: string): ShellMarks {
  const marks = new AgentMarks(folder);
  return {
    async place() {
      const marker = randomUUID();
      const mark = await marks.record(marker, "shell");
      return {
        variables: { [AGENT_MARK_VARIABLE]: marker },
        confirm: async (pid) => void (await marks.confirm(mark, pid)),
        remove: () => marks.remove(mark),
      };
    },
  };
}

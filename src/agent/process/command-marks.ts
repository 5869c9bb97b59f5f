import { randomUUID } from "node:crypto";
import { AGENT_MARK_VARIABLE } from "./environment.ts";
import { endMarked } from "./marked.ts";
import { type AgentMarks, markedBy } from "./marks.ts";

/**
 * The marks of agents, for command lines that people run: what ends the orphans of the one ends
 * those of the other (P5).
 */
export class CommandMarks {
  readonly #marks: AgentMarks;

  constructor(marks: AgentMarks) {
    this.#marks = marks;
  }

  /** Rejects if nothing can be noted down; then nothing must be run. */
  async place() {
    const marks = this.#marks;
    const marker = randomUUID();
    let mark = await marks.record(marker, "shell");
    return {
      variables: { [AGENT_MARK_VARIABLE]: marker },
      confirm: async (pid: number) => {
        mark = await marks.confirm(mark, pid);
      },
      end: async () => {
        const { cleared } = await endMarked([{ ...markedBy(mark), mayStillStart: false }]);
        // Of what could not be ended it stays, for the next server.
        if (cleared.length > 0) await marks.remove(mark);
      },
    };
  }
}

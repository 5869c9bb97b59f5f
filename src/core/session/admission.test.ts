import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SessionState } from "../status.ts";
import { ADMISSION, COMMAND_TYPES, type Condition, conditionOf } from "./admission.ts";
import { anything, commandFor } from "./anything.fixture.ts";
import { decide } from "./decide.ts";
import { Life } from "./life.fixture.ts";

/** A session in every condition that it can be in towards a command. */
const STANDING: Readonly<Record<Condition, () => Life>> = {
  absent: () => new Life(),
  closed: () => closed(new Life().created()),
  inactive: () => new Life().created(),
  activating: () => new Life().activating(),
  ready: () => new Life().ready(),
  running: () => new Life().running(),
  waiting: () => new Life().waiting(),
  deactivating: () => new Life().deactivating(),
  closing: () => closed(new Life().ready()),
  error: () => new Life().error(),
};

function closed(life: Life): Life {
  life.give("close", {});
  return life;
}

const commandAt = (type: (typeof COMMAND_TYPES)[number], life: Life) => {
  const named = { type, pick: 1, odd: true };
  return commandFor(life.session === null ? new Life().created() : life, named, 5);
};

describe("the table of what a session may do", () => {
  for (const [where, make] of Object.entries(STANDING)) {
    it(`holds at \`${where}\`: refusals carry their code, skipping has no effect`, () => {
      const life = make();
      expect(conditionOf(life.session)).toBe(where);
      for (const type of COMMAND_TYPES) {
        const cell = ADMISSION[type].cells[conditionOf(life.session)];
        const decision = decide(life.session, commandAt(type, life));
        if (cell === "yes") continue;
        expect(decision.session, type).toBe(life.session);
        expect(decision.events, type).toEqual([]);
        expect(decision, type).toMatchObject(
          cell === "skip" ? { kind: "accepted" } : { kind: "refused", refusal: { code: cell } },
        );
      }
    });
  }

  it("P4: says `yes` to a new turn only at `ready`", () => {
    const open = Object.entries(ADMISSION.begin_turn.cells).filter(([, cell]) => cell === "yes");
    expect(open.map(([where]) => where)).toEqual(["ready"]);
  });

  it("lets an agent ask only within a turn", () => {
    const open = Object.entries(ADMISSION.ask.cells).filter(([, cell]) => cell === "yes");
    expect(open.map(([where]) => where)).toEqual<SessionState[]>(["running", "waiting"]);
  });

  it("P8: answers for a closed session as for one that never was, to every client", () => {
    for (const type of COMMAND_TYPES) {
      const { caller, cells } = ADMISSION[type];
      if (caller === "registered") expect(cells.closed, type).toBe(cells.absent);
    }
  });
});

describe("deciding", () => {
  it("never throws, and asks nothing but the session and the command", () => {
    const twice = fc.property(anything, (intents) => {
      const life = new Life().created();
      for (const [step, intent] of intents.entries()) {
        const command = commandFor(life, intent, step + 2);
        expect(decide(life.session, command)).toEqual(decide(life.session, command));
        life.submit(command);
      }
    });
    fc.assert(twice, { numRuns: 300 });
  });
});

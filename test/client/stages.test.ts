// Workflows on a real server with `echo`, which repeats what it is told: with what the words after
// the name have in a fence it completes each stage.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Fermata, type StagePart, type TurnInView, type TurnPart } from "../../src/client/index.ts";
import { Transport } from "../../src/client/transport.ts";
import { TurnFold } from "../../src/client/turn-fold.ts";
import type { SessionEvent } from "../../src/core/session/event.ts";
import { sharedServer } from "../server/serve.fixture.ts";

const server = sharedServer({ flags: ["--enable-session-shell", "--token", "secret"] });

const fenced = (result: object) => `The wish\n\`\`\`json\n${JSON.stringify(result)}\n\`\`\``;

const REVIEWED = {
  ...{ goal: "A flag", steps: ["Add it"], check: "npm test" },
  ...{ summary: "Added", files: ["main.ts"], checked: "it passes" },
  ...{ verdict: "pass", findings: [] },
};

const COMPARED = {
  ...{ first: "Docs", second: "Code", third: "Tests", confidence: "low" },
  ...{ answer: "The disk", findings: ["a.ts:1"], reasons: ["a.ts:1"] },
};

const stagesIn = (parts: readonly TurnPart[]): readonly StagePart[] =>
  parts.flatMap((part) => (part.type === "stage" ? [part.stage] : []));

const nameOf = ({ stages, attempt, outcome }: StagePart) =>
  `${stages.join("+")}#${attempt} ${outcome}`;

/** The turns that are stages, each with the one that it has. */
function staged(turns: readonly TurnInView[]): readonly StagePart[] {
  return turns.flatMap(({ parts }) => {
    const stages = stagesIn(parts);
    expect(stages.length).toBeLessThanOrEqual(1);
    return stages;
  });
}

/** A workflow in a session of its own, which is viewed. */
async function begun(name: string, words: string) {
  const session = await new Fermata({ url: server().url, token: "secret" }).sessions.create();
  const view = session.view();
  await (await session.prompt(`/workflow start ${name} ${words}`)).verdict;
  return { session, view };
}

/** All that is told of one turn of a session. */
async function toldOf(
  session: Awaited<ReturnType<typeof begun>>["session"],
  promptId: string,
): Promise<readonly SessionEvent[]> {
  const told: SessionEvent[] = [];
  for await (const item of session.events()) {
    if (item.kind === "connection" && item.state === "live") break;
    if (item.kind === "event" && item.event.promptId === promptId) told.push(item.event);
  }
  return told;
}

describe("the stage of a turn, for a client", { timeout: 240_000 }, () => {
  it("is one part of it: what the agent is told, and how it ended", async () => {
    const { session, view } = await begun("plan-implement-review", fenced(REVIEWED));
    const { turns } = await view.until((state) => {
      const stages = staged(state.turns);
      return stages.length === 3 && stages.every(({ outcome }) => outcome !== null);
    });
    const stages = staged(turns);
    expect(stages.map(nameOf)).toEqual(["plan#1 ok", "implement#1 ok", "review#1 ok"]);
    for (const { prompt, reason } of stages) {
      expect(prompt).toContain("The wish");
      expect(reason).toBe("");
    }
    const plan = turns.find(({ parts }) => parts.some(({ type }) => type === "stage"));
    const turn = session.turn(plan?.promptId ?? "");
    const told: StagePart[] = [];
    for await (const part of turn) if (part.type === "stage") told.push(part.stage);
    expect(new Set(told).size).toBe(1);
    expect(told.map(nameOf).at(-1)).toBe("plan#1 ok");
    expect(turn.parts.filter(({ type }) => type === "event")).toEqual([]);
    view.dispose();
  });

  it("has the stages of a group together, each of them a child of the turn", async () => {
    const { view } = await begun("fan-out", fenced(COMPARED));
    const isOver = ({ turns }: { readonly turns: readonly TurnInView[] }) =>
      staged(turns).at(-1)?.stages.join() === "compare";
    const { turns } = await view.until(isOver);
    const group = turns.find(({ parts }) => stagesIn(parts)[0]?.stages.length === 3);
    const [stage] = stagesIn(group?.parts ?? []);
    expect(stage).toMatchObject({
      stages: ["explore-first", "explore-second", "explore-third"],
      ...{ prompt: "", outcome: "ok" },
    });
    const children = group?.parts.flatMap((part) => (part.type === "child" ? [part.child] : []));
    expect(children?.map(({ title, state }) => `${title} ${state}`).sort()).toEqual([
      "First explorer Closed",
      "Second explorer Closed",
      "Third explorer Closed",
    ]);
    view.dispose();
  });

  it("P2, P3: is interrupted with its server, once, however often it is told", async () => {
    const leave = join(server().workspace, "leave");
    const waits = `until test -e ${leave}; do sleep 0.1; done`;
    const { session, view } = await begun("fix-until-green", waits);
    const { turns } = await view.until((state) => staged(state.turns).length === 1);
    const promptId = turns.at(-1)?.promptId ?? "";
    const turn = session.turn(promptId);
    const told: StagePart[] = [];
    for await (const part of turn) {
      if (part.type !== "stage") continue;
      told.push(part.stage);
      if (told.length > 1) continue;
      expect(nameOf(part.stage)).toBe("fix#1 null");
      await server().kill("SIGKILL");
      writeFileSync(leave, "");
      await server().restart();
    }
    expect(await turn.verdict).toMatchObject({ kind: "error", code: "SERVER_RESTART" });
    expect(new Set(told).size).toBe(1);
    expect(stagesIn(turn.parts).map(nameOf)).toEqual(["fix#1 interrupted"]);
    const again = await view.until((state) => staged(state.turns)[1]?.outcome === "skipped");
    expect(staged(again.turns).map(nameOf)).toEqual(["fix#1 interrupted", "fix#2 skipped"]);
    view.dispose();

    const events = await toldOf(session, promptId);
    for (let known = 0; known <= events.length; known += 1) {
      const fold = new TurnFold(new Transport({ url: server().url }));
      for (const event of events.slice(0, known)) fold.add(event);
      fold.addAgain(events);
      expect(stagesIn(fold.parts).map(nameOf)).toEqual(["fix#1 interrupted"]);
    }
  });
});

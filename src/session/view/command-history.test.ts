import { describe, expect, it } from "vitest";
import { parseTenantId } from "../../core/id.ts";
import { COMMAND_HISTORY_EVENTS_MAX, COMMAND_HISTORY_MAX } from "../../core/limits.ts";
import { ok } from "../../core/result.ts";
import { Life, promptId, sessionId } from "../../core/session/life.fixture.ts";
import type { SessionStore } from "../../store/store.ts";
import { value } from "../stage.fixture.ts";
import { given } from "../world.fixture.ts";
import { commandHistory } from "./fields.ts";

const KEY = { tenantId: given(parseTenantId("t")), sessionId: sessionId("s") };

/** The raw events of a life, a few at a time, as stores give them. */
function logOf({ log }: Life): Pick<SessionStore, "readEvents"> {
  const all = log.map((event, at) => ({ id: at + 1, text: JSON.stringify(event) }));
  return {
    readEvents: async (_key, { after, limit }) => {
      const events = all.slice(after, after + Math.min(limit, 7));
      return ok({ events, earliestEventId: 1, lastEventId: all.length, epoch: "e" });
    },
  };
}

async function historyOf(life: Life) {
  return value(await commandHistory(logOf(life), KEY, life.log.length));
}

function answered(life: Life, id: string, text: string, code: string) {
  life.prompt(id, { content: [{ type: "text", text }] });
  const result = { status: "ok", code, message: "It is so." } as const;
  life.give("command_result", { promptId: promptId(id), result });
}

describe("the command history", () => {
  it("is what was asked and what came of it, in order", async () => {
    const life = new Life().ready();
    answered(life, "p1", "/skills", "skills_listed");
    answered(life, "p2", "/agent\n  echo", "agent_set");
    expect(await historyOf(life)).toEqual([
      { command: "/skills", code: "skills_listed", at: "1970-01-01T00:00:01.005Z" },
      { command: "/agent echo", code: "agent_set", at: "1970-01-01T00:00:01.007Z" },
    ]);
  });

  it("has nothing of conversation", async () => {
    const life = new Life().ready();
    life.prompt("p1", { content: [{ type: "text", text: '"command_result" /skills' }] });
    expect(await historyOf(life)).toEqual([]);
  });

  it("P10: has the newest of many", async () => {
    const life = new Life().ready();
    const count = COMMAND_HISTORY_MAX + 3;
    for (let at = 1; at <= count; at += 1) answered(life, `p${at}`, `/model m${at}`, "model_set");
    const history = await historyOf(life);
    expect(history).toHaveLength(COMMAND_HISTORY_MAX);
    expect(history[0]?.command).toBe("/model m4");
    expect(history.at(-1)?.command).toBe(`/model m${count}`);
  });

  it("P10: looks no further back than a limit, and owns up to words it has lost", async () => {
    const life = new Life().ready();
    life.prompt("p1", { content: [{ type: "text", text: "/status" }] });
    const quiet = life.log.at(-2);
    if (quiet === undefined) throw new Error("there is no event");
    for (let at = 1; at < COMMAND_HISTORY_EVENTS_MAX; at += 1) life.log.push(quiet);
    const result = { status: "ok", code: "status_shown", message: "" } as const;
    life.give("command_result", { promptId: promptId("p1"), result });
    expect(await historyOf(life)).toMatchObject([{ command: null, code: "status_shown" }]);
  });
});

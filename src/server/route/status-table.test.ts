import { describe, expect, it } from "vitest";
import { COMMAND_TYPES } from "../../core/session/admission.ts";
import { bodyOf, closeServers, serve } from "../http/server.fixture.ts";
import { statusTableRoute } from "./server-info.ts";

describe("GET /status-table", () => {
  it("P4: gives the tables by which states, agents and commands are judged", async () => {
    const world = await serve([statusTableRoute()]);
    const body = bodyOf(await world.ask("/status-table"));
    await closeServers();
    expect(body).toMatchObject({
      v: 1,
      transitions: { inactive: ["activating"], waiting: ["running", "error", "deactivating"] },
      agentTransitions: { running: { turn_complete: "ready", created: null } },
      admission: {
        prompt: { caller: "registered", cells: { closed: "session_not_found", ready: "yes" } },
      },
    });
    expect(Object.keys(Object(body.admission))).toEqual(COMMAND_TYPES);
    expect(Object.values(Object(body.transitions)).flat()).toHaveLength(19);
    const rows = Object.values(Object(body.agentTransitions));
    expect(rows.flatMap((row) => Object.keys(Object(row)))).toHaveLength(70);
  });
});

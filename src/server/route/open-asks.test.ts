import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../core/json.ts";
import { Team } from "../identity/team.fixture.ts";
import { heard } from "./work.fixture.ts";

const asksIn = (body: JsonObject): readonly JsonObject[] =>
  Array.isArray(body.asks) ? body.asks : [];

/** Has the agent of a new session ask, and waits until it has. */
async function asking(team: Team, by: Team["ada"], script = "ask kind=execute title=Run") {
  const made = await team.made(by);
  const stream = await team.stream(by, `${made.path}/events`);
  const body = { prompt: [{ type: "text", text: script }] };
  await by.call("POST", `${made.path}/prompt`, { body });
  const asked = await heard(stream, "permission_request");
  stream.leave();
  return { ...made, requestId: String(asked.data.data.requestId) };
}

describe("GET /asks", () => {
  it("P8: has what waits for a person, in the sessions that the caller sees", async () => {
    const team = await Team.open();
    expect((await team.ada.call("GET", "/asks")).body).toEqual({ asks: [] });
    const adas = await asking(team, team.ada);
    const bobs = await asking(team, team.bob);
    const mine = await team.ada.call("GET", "/asks");
    expect(mine.body).toEqual({
      asks: [
        {
          sessionId: adas.sessionId,
          workspaceCwd: team.people.world.stage.folder,
          displayName: expect.any(String),
          name: "ask-kind-execute-title-run",
          requestId: adas.requestId,
          createdAt: expect.any(String),
          kind: "permission",
          options: expect.arrayContaining([expect.objectContaining({ kind: "allow_once" })]),
          action: expect.objectContaining({ type: "execute", title: "Run" }),
        },
      ],
    });
    const all = asksIn((await team.own.call("GET", "/asks")).body);
    expect(all.map(({ requestId }) => requestId)).toEqual([adas.requestId, bobs.requestId]);
    expect((await team.adm.call("GET", "/asks")).body).toEqual({ asks: [] });
  });

  it("comes in pages, from which nothing is lost when the first is answered", async () => {
    const team = await Team.open();
    const first = await asking(team, team.ada);
    const second = await asking(team, team.ada);
    const one = await team.ada.call("GET", "/asks?size=1");
    expect(asksIn(one.body)).toMatchObject([{ requestId: first.requestId }]);
    const vote = { outcome: { outcome: "cancelled" } };
    await team.ada.call("POST", `/permission/${first.requestId}`, { body: vote });
    const two = await team.ada.call("GET", `/asks?size=1&cursor=${one.body.nextCursor}`);
    expect(asksIn(two.body)).toMatchObject([{ requestId: second.requestId }]);
    expect(two.body).not.toHaveProperty("nextCursor");
    const refused = await team.ada.call("GET", "/asks?cursor=nonsense");
    expect([refused.status, refused.body.code]).toEqual([400, "invalid_cursor"]);
  });
});

import { describe, expect, it } from "vitest";
import { parseTenantId } from "../../core/id.ts";
import { NO_PERSONA } from "../../core/persona.ts";
import { ok } from "../../core/result.ts";
import { skill } from "../../core/slash/snapshot.fixture.ts";
import type { Loader } from "../../loader/loader.ts";
import { SessionHost } from "../host.ts";
import { ada, bob, NEVER } from "../runtime.fixture.ts";
import { promptOf, Stage, TENANT, value } from "../stage.fixture.ts";
import { CREATION } from "../world.fixture.ts";
import { codesIn, Desk, SlowShelf, verdictIn } from "./command.fixture.ts";

const by = (actor = ada) => ({ atMs: Date.now(), actor });

describe("a command whose client has left since", () => {
  it("is carried out all the same: it was admitted", async () => {
    const desk = await Desk.open(new SlowShelf());
    const { key } = desk.live;
    value(await desk.runtime.attach(key, bob));
    const turn = await desk.send("hang");
    const lines = ["/model echo-large", "/reload_skills", "/agent second"];
    const sent = [];
    for (const line of lines) sent.push(await desk.send(line));
    value(await desk.runtime.detach(key, ada.clientId, ada));
    value(await desk.runtime.submit(key, { type: "cancel", ...by(bob) }));
    expect(verdictIn(await desk.of(turn))).toMatchObject({ stopReason: "cancelled" });
    const codes = [];
    for (const promptId of sent) codes.push(...codesIn(await desk.of(promptId)));
    expect(codes).toEqual(["model_set", "skills_reloaded", "agent_set"]);
    await desk.runtime.shutDown(NEVER);
  });
});

describe("/model", () => {
  it("is for the agent that comes, when it is said while the other one goes", async () => {
    const desk = await Desk.open(new SlowShelf());
    await desk.say("say hello");
    const sent = [await desk.send("/agent second"), await desk.send("/model echo-large")];
    const codes = [];
    for (const promptId of sent) codes.push(...codesIn(await desk.of(promptId)));
    expect(codes).toEqual(["agent_set", "model_set"]);
    expect(desk.live.session.chosen).toMatchObject({
      activeAgent: "second",
      modelConfig: { modelId: "echo-large" },
    });
    await desk.runtime.shutDown(NEVER);
  });
});

describe("/new", () => {
  it("is refused in words where no session can be made, and makes none later", async () => {
    const shelf = new SlowShelf();
    const desk = await Desk.open(shelf);
    const before = await desk.sessionIds();
    shelf.fault = "It is gone.";
    const refused = await desk.say("/new");
    expect(codesIn(refused)).toEqual(["skills_unavailable"]);
    expect(verdictIn(refused)).toMatchObject({ stopReason: "end_turn" });
    shelf.fault = null;
    expect(await desk.sessionIds()).toEqual(before);
    await desk.runtime.shutDown(NEVER);
  });
});

describe("a reload that cannot read anything", () => {
  it.each([
    ["/reload_skills", "reload_unavailable"],
    ["/reload_persona", "persona_reload_failed"],
  ])("says so and leaves the session as it is: %s", async (line, code) => {
    const shelf = new SlowShelf();
    const desk = await Desk.open(shelf);
    const { chosen } = desk.live.session;
    shelf.fault = "It is gone.";
    expect(codesIn(await desk.say(line))).toEqual([code]);
    expect(desk.live.session.chosen).toEqual(chosen);
    await desk.runtime.shutDown(NEVER);
  });
});

describe("/save-and-close", () => {
  it("counts turns that ended while it waited, and nothing that was no turn", async () => {
    const desk = await Desk.open(new SlowShelf());
    await desk.say("say long ago");
    desk.stage.aheadMs += 1_000;
    const turn = await desk.send("hang");
    await desk.send("/status");
    const failing = await desk.send("fail 7 broken");
    const closing = await desk.send("/save-and-close");
    value(await desk.runtime.submit(desk.live.key, { type: "cancel", ...by() }));
    expect(verdictIn(await desk.of(turn))).toMatchObject({ stopReason: "cancelled" });
    expect(verdictIn(await desk.of(failing))).toHaveProperty("code");
    const own = await desk.of(closing);
    const [saved] = own.flatMap((event) =>
      event.type === "command_result" ? [event.data.data] : [],
    );
    expect(saved).toMatchObject({ persisted: true, turnsDrained: 2 });
    await desk.live.until(({ closed }) => closed);
    await desk.runtime.shutDown(NEVER);
  });
});

describe("sessions of two tenants in one workspace", () => {
  it("P8: list their own skills, and neither finds the other's session", async () => {
    const loader: Loader = {
      skills: async ({ tenantId }) => ok({ entries: [skill(`of-${tenantId}`)], diagnostics: [] }),
      persona: async () => ok(NO_PERSONA),
    };
    const stage = await Stage.open({ loader });
    const runtime = new SessionHost(stage.world);
    const other = parseTenantId("other") ?? expect.fail();
    for (const tenantId of [TENANT, other]) {
      const key = { tenantId, sessionId: stage.world.ids.session() };
      const creation = { ...CREATION, workspaceCwd: stage.folder };
      const { live } = value(await runtime.create({ key, creation, actor: ada }));
      value(await runtime.submit(key, promptOf(live, "/skills")));
      await live.until(({ queue }) => queue.length === 0);
      const { events } = value(await stage.world.store.readEvents(key, { after: 0, limit: 100 }));
      const said = events.map(({ text }) => text).join("\n");
      const [mine, theirs] = tenantId === TENANT ? ["acme", "other"] : ["other", "acme"];
      expect(said).toContain(`of-${mine}`);
      expect(said).not.toContain(`of-${theirs}`);
      const foreign = { ...key, tenantId: tenantId === TENANT ? other : TENANT };
      expect(await runtime.find(foreign)).toMatchObject({
        refusal: { code: "session_not_found" },
      });
    }
    await runtime.shutDown(NEVER);
  });
});

import { describe, expect, it } from "vitest";
import { DaemonWorld } from "../daemon.fixture.ts";
import type { Daemon } from "../daemon.ts";
import { ACME, tenant } from "../identity/identity.fixture.ts";
import { People } from "../identity/people.fixture.ts";
import { Approvals } from "./approval.fixture.ts";
import { tenantRoutes } from "./tenant.ts";

const AUTONOMY = (autonomy: unknown) => ({ body: { settings: { autonomy } } });

describe("GET /tenant", () => {
  it("tells every member their tenant, what they are in it, and its settings", async () => {
    const people = await People.open();
    const vic = await people.person("vic", "viewer");
    expect((await vic.call("GET", "/tenant")).body).toEqual({
      v: 1,
      tenantId: ACME,
      role: "viewer",
      user: "vic",
      settings: { autonomy: "manual" },
    });
  });

  it("has no user where a token has none", async () => {
    const routes = (daemon: Daemon) => tenantRoutes(daemon);
    const world = await DaemonWorld.open({ routes, needsToken: false });
    const { body } = await world.call("GET", "/tenant");
    expect(body).toMatchObject({ tenantId: "local", role: "owner", user: null });
    const set = await world.call("PATCH", "/tenant", AUTONOMY("supervised"));
    expect(set.body).toMatchObject({ settings: { autonomy: "supervised" } });
  });
});

describe("PATCH /tenant", () => {
  it("sets what new sessions begin with, and moves none that is there (P7)", async () => {
    const people = await People.open();
    const ada = await people.person("ada", "owner");
    const old = await Approvals.made(people, ada);
    const set = await ada.call("PATCH", "/tenant", AUTONOMY("balanced"));
    expect(set.body).toMatchObject({ v: 1, role: "owner", settings: { autonomy: "balanced" } });
    expect((await ada.call("GET", "/tenant")).body).toEqual(set.body);
    expect((await old.view()).autonomy).toBe("manual");
    const begun = async (body: object) => {
      const { autonomy, approvalMode } = await (await Approvals.made(people, ada, body)).view();
      return [autonomy, approvalMode];
    };
    expect(await begun({})).toEqual(["balanced", "auto-edit"]);
    expect(await begun({ autonomy: "supervised" })).toEqual(["supervised", "default"]);
    expect(await begun({ approvalMode: "default" })).toEqual(["manual", "default"]);
    expect(await begun({ approvalMode: "plan" })).toEqual(["manual", "plan"]);
  });

  it("P7: is nothing to a branch, which is set to what its session is set to", async () => {
    const people = await People.open();
    const ada = await people.person("ada", "owner");
    const old = await Approvals.made(people, ada, { autonomy: "supervised" });
    await old.turn("say hi");
    await ada.call("PATCH", "/tenant", AUTONOMY("autonomous"));
    const { body } = await old.call("POST", "/branch", {});
    const path = `/session/${body.sessionId}/approvals`;
    expect((await ada.call("GET", path)).body).toMatchObject({
      autonomy: "supervised",
      approvalMode: "default",
      grants: [],
    });
  });

  it("is for owners, and each time told to the audit before", async () => {
    const people = await People.open();
    const ada = await people.person("ada", "owner");
    const bob = await people.person("bob", "admin");
    const refused = await bob.call("PATCH", "/tenant", AUTONOMY("autonomous"));
    expect([refused.status, refused.body.code]).toEqual([403, "role_required"]);
    await ada.call("PATCH", "/tenant", AUTONOMY("supervised"));
    // The same again is no change, and is not told as one.
    await ada.call("PATCH", "/tenant", AUTONOMY("supervised"));
    await ada.call("PATCH", "/tenant", AUTONOMY("balanced"));
    const { store } = people.world.daemon.world;
    const read = await store.readJournal(ACME, { journal: "audit", after: 0, limit: 100 });
    const texts = read.ok ? read.value.rows.map(({ text }) => JSON.parse(text)) : [];
    const actor = { kind: "client", userId: "ada" };
    expect(texts.filter(({ act }) => act === "tenant_settings_set")).toMatchObject([
      { actor, details: { autonomy: "supervised", from: "manual" } },
      { actor, details: { autonomy: "balanced", from: "supervised" } },
    ]);
  });

  it("P8: is one tenant's own", async () => {
    const people = await People.open();
    const ada = await people.person("ada", "owner");
    const eve = await people.person("eve", "owner", tenant("other"));
    await ada.call("PATCH", "/tenant", AUTONOMY("autonomous"));
    expect((await eve.call("GET", "/tenant")).body).toMatchObject({
      tenantId: "other",
      settings: { autonomy: "manual" },
    });
  });

  it.each([
    {},
    { settings: {} },
    { settings: { autonomy: "full" } },
    { settings: { autonomy: null } },
    { settings: { autonomy: "manual", theme: "dark" } },
    { settings: [] },
  ])("refuses %j, and nothing changes", async (body) => {
    const people = await People.open();
    const ada = await people.person("ada", "owner");
    const { status, body: told } = await ada.call("PATCH", "/tenant", { body });
    expect([status, told.code]).toEqual([400, "invalid_request"]);
    expect((await ada.call("GET", "/tenant")).body.settings).toEqual({ autonomy: "manual" });
  });

  it("that is damaged on the disk allows nothing, and is mended by the next", async () => {
    const people = await People.open();
    const ada = await people.person("ada", "owner");
    const { store } = people.world.daemon.world;
    const value = { autonomy: "everything" };
    await store.writeDocument(ACME, { kind: "settings", key: "all", expectedVersion: 0, value });
    expect((await ada.call("GET", "/tenant")).body.settings).toEqual({ autonomy: "manual" });
    expect((await (await Approvals.made(people, ada)).view()).autonomy).toBe("manual");
    expect((await ada.call("PATCH", "/tenant", AUTONOMY("balanced"))).status).toBe(200);
  });
});

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { value } from "../../store/kit/expect.ts";
import { ACME } from "./identity.fixture.ts";
import { People, type Person } from "./people.fixture.ts";

/** What the tenant's audit says to have happened, of one act. */
async function told({ world }: People, act: string) {
  const query = { journal: "audit", after: 0, limit: 200 } as const;
  const { rows } = await value(world.daemon.world.store.readJournal(ACME, query));
  const entries = rows.map(({ text }) => JSON.parse(text));
  return entries.filter((entry) => entry.act === act && entry.accepted);
}

const statuses = async (calls: readonly ReturnType<Person["call"]>[]) =>
  (await Promise.all(calls)).map(({ status }) => status);

describe("the audit of what many do at once", () => {
  it("says of 25 who are taken in that they were, and each is", async () => {
    const people = await People.open();
    const ada = await people.person("ada", "owner");
    const names = Array.from({ length: 25 }, (_, n) => `user-${n}`);
    const body = { role: "member" };
    const calls = names.map((name) => ada.call("POST", `/members/${name}`, { body }));
    expect(await statuses(calls)).toEqual(names.map(() => 200));
    const entries = (await told(people, "member_set")).map(({ details }) => details.userId);
    expect(entries.sort()).toEqual(["ada", ...names].sort());
    const members = await value(people.members.list(ACME));
    expect(members.map(({ userId }) => userId).sort()).toEqual(["ada", ...names].sort());
  });

  it("says of owners who step back which of them did, and not the last one", async () => {
    const people = await People.open();
    const names = ["ada", "bob", "cleo"];
    const owners: Person[] = [];
    for (const name of names) owners.push(await people.person(name, "owner"));
    const body = { role: "viewer" };
    const back = owners.map((one, at) => one.call("POST", `/members/${names[at]}`, { body }));
    const answers = await statuses(back);
    const stepped = names.filter((_, at) => answers[at] === 200);
    expect(stepped).toHaveLength(2);
    const entries = (await told(people, "member_set")).filter(({ details }) => details.from);
    expect(entries.map(({ details }) => details.userId).sort()).toEqual(stepped);
  });

  it("says of a token that is revoked and rotated what was done to it", async () => {
    const people = await People.open();
    const ada = await people.person("ada", "owner");
    const bob = await people.person("bob", "member");
    const path = `/tokens/${bob.tokenId}`;
    const [first, second, rotated] = await statuses([
      ada.call("DELETE", path),
      ada.call("DELETE", path),
      ada.call("POST", `${path}/rotate`, { body: {} }),
    ]);
    const revoked = [first, second].filter((status) => status === 204);
    expect(revoked).toHaveLength(1);
    expect(await told(people, "token_revoked")).toHaveLength(1);
    expect(await told(people, "token_rotated")).toHaveLength(rotated === 200 ? 1 : 0);
  });

  it("says of a tenant's settings each that they were, and from which", async () => {
    const people = await People.open();
    const ada = await people.person("ada", "owner");
    const wishes = ["supervised", "balanced", "autonomous", "manual", "balanced", "supervised"];
    const calls = wishes.map((autonomy) => {
      return ada.call("PATCH", "/tenant", { body: { settings: { autonomy } } });
    });
    expect(await statuses(calls)).toEqual(wishes.map(() => 200));
    let now = "manual";
    for (const { details } of await told(people, "tenant_settings_set")) {
      expect(details.from).toBe(now);
      expect(details.autonomy).not.toBe(now);
      now = details.autonomy;
    }
    expect((await ada.call("GET", "/tenant")).body.settings).toEqual({ autonomy: now });
  });

  it("says of a workspace that many add that it was added once", async () => {
    const people = await People.open();
    const ada = await people.person("ada", "owner");
    const cwd = join(people.world.stage.folder, "more");
    mkdirSync(cwd);
    const calls = Array.from({ length: 10 }, (_, n) =>
      ada.call("POST", "/workspaces", { body: { cwd, ...(n === 5 && { trusted: false }) } }),
    );
    expect(await statuses(calls)).toEqual(calls.map(() => 200));
    const added = await told(people, "workspace_added");
    const set = await told(people, "workspace_trust_set");
    expect(added).toHaveLength(1);
    expect([...added, ...set].at(-1)?.details).toMatchObject({ cwd, trusted: false });
  });
});

import { describe, expect, it } from "vitest";
import { SYSTEM_CLOCK } from "../../platform/clock.ts";
import { BY_OWNER, OPERATOR, tenant, user } from "../../server/identity/identity.fixture.ts";
import { Members } from "../../server/identity/members.ts";
import { value } from "../../store/kit/expect.ts";
import { audit } from "./audit.ts";
import { runIn, servedFolder } from "./data-folder.fixture.ts";

const ACME = ["--tenant", "acme"] as const;

/** A tenant with three entries, and another with one. */
async function opened() {
  const { folder, store } = await servedFolder();
  const members = new Members(store, SYSTEM_CLOCK);
  const [acme, other] = [tenant("acme"), tenant("other")];
  await value(members.put(acme, user("ada"), "owner", BY_OWNER));
  await value(members.put(acme, user("bob"), "viewer", BY_OWNER));
  await value(members.remove(acme, user("bob"), OPERATOR));
  await value(members.put(other, user("eve"), "owner", BY_OWNER));
  return (...args: readonly string[]) => runIn(folder, audit, ...args);
}

const entriesIn = (shown: string) => {
  const lines = shown.split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line));
};

describe("fermata audit", () => {
  it("prints what was done in a tenant, the oldest first, beside a server at work", async () => {
    const run = await opened();
    const { exitCode, shown, stderr } = await run(...ACME);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(entriesIn(shown)).toMatchObject([
      { seq: 1, act: "member_set", actor: { kind: "operator" }, accepted: true },
      { seq: 2, act: "member_set", details: { userId: "bob", role: "viewer" } },
      { seq: 3, act: "member_removed", details: { userId: "bob" } },
    ]);
  });

  it.each([
    [["--act", "member_removed,token_revoked"], [3]],
    [
      ["--accepted", "true", "--from", "2000-01-01", "--to", "2999-01-01"],
      [1, 2, 3],
    ],
    [["--user", "ada"], []],
    [["--client", "tab"], []],
    [["--session", "none"], []],
    [["--to", "1"], []],
  ])("prints what holds of %j", async (wanted, seqs) => {
    const run = await opened();
    const { exitCode, shown } = await run(...ACME, ...wanted);
    expect(exitCode).toBe(0);
    expect(entriesIn(shown).map(({ seq }) => seq)).toEqual(seqs);
  });

  it("prints it as a table", async () => {
    const run = await opened();
    const { shown } = await run(...ACME, "--format", "csv", "--from", "2000-01-01T00:00Z");
    const [head, ...rows] = shown.split("\r\n");
    expect(head).toMatch(/^seq,at,act,/);
    expect(rows).toHaveLength(4);
    expect(rows[2]).toMatch(/^3,.*,member_removed,true,,operator,/);
    expect(rows[2]).toContain('"{""userId"":""bob"",""from"":""viewer""}"');
  });

  it("P8: has nothing of other tenants", async () => {
    const run = await opened();
    expect((await run(...ACME)).shown).not.toContain("eve");
    const nobody = await run("--tenant", "nobody");
    expect(nobody).toMatchObject({ exitCode: 1, shown: "" });
    expect(nobody.stderr).toContain('There is no tenant "nobody" here.');
  });

  it("makes nothing where nothing is", async () => {
    const { exitCode, stderr } = await runIn("/nowhere", audit);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("there is no /nowhere")]);
  });

  it.each([
    [["now"], 'the word "now" is one too many'],
    [["--format", "xml"], "--format must be ndjson or csv"],
    [["--tenant", "a/b"], "the name of a tenant"],
    [["--session", "a/b"], "--session: an id has letters"],
    [["--act", ""], "--act: "],
    [["--act", "nonsense"], "--act: it is one of active_agent_changed, "],
    [["--accepted", "maybe"], "--accepted: "],
    [["--from", "soon"], "--from: it is a time, as in 2026-05-01"],
    [["--nonsense"], "there is no option --nonsense"],
  ])("refuses %j, and says why", async (args, why) => {
    const { exitCode, stderr } = await runIn("/nowhere", audit, ...args);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(why)]);
  });
});

import { describe, expect, it } from "vitest";
import { parseTenantId } from "../../core/id.ts";
import { TENANT } from "../stage.fixture.ts";
import { TenantGate } from "./tenant-gate.ts";

const OTHER = parseTenantId("other") ?? expect.fail();

describe("the gate of tenants", () => {
  it("lets nobody begin to work for one that is closed, and anybody for another", async () => {
    const gate = new TenantGate();
    expect(gate.close(TENANT)).toBe(true);
    expect(gate.admit(TENANT, async () => "done")).toBeNull();
    expect(await gate.admit(OTHER, async () => "done")).toBe("done");
    gate.open(TENANT);
    expect(await gate.admit(TENANT, async () => "done")).toBe("done");
  });

  it("is closed by one, who knows by that that nobody else has", () => {
    const gate = new TenantGate();
    expect([gate.close(TENANT), gate.close(TENANT), gate.close(OTHER)]).toEqual([
      true,
      false,
      true,
    ]);
  });

  it("is empty when the last work has ended, well or badly, and not before", async () => {
    const gate = new TenantGate();
    const [one, two] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const counted = [gate.count(TENANT, one.promise), gate.count(TENANT, two.promise)];
    let isEmpty = false;
    const empty = gate.empty(TENANT).then(() => {
      isEmpty = true;
    });
    one.resolve();
    await counted[0];
    await gate.empty(OTHER);
    expect(isEmpty).toBe(false);
    two.reject(new Error("it failed"));
    await expect(counted[1]).rejects.toThrow("it failed");
    await empty;
    await gate.empty(TENANT);
  });

  it("is not waited for by whom it is too late for", async () => {
    const gate = new TenantGate();
    const atWork = Promise.withResolvers<void>();
    void gate.count(TENANT, atWork.promise);
    const late = new AbortController();
    const over: string[] = [];
    const patient = gate.empty(TENANT).then(() => over.push("patient"));
    const hasty = gate.empty(TENANT, late.signal).then(() => over.push("hasty"));
    await gate.empty(OTHER);
    expect(over).toEqual([]);
    late.abort();
    await hasty;
    await gate.empty(TENANT, late.signal);
    expect(over).toEqual(["hasty"]);
    atWork.resolve();
    await patient;
  });

  it("tells of the end of a tenant as it is: the next of its name has an end of its own", () => {
    const gate = new TenantGate();
    const [one, other] = [gate.endingOf(TENANT), gate.endingOf(OTHER)];
    expect(one.aborted).toBe(false);
    gate.close(TENANT);
    expect([one.aborted, gate.endingOf(TENANT).aborted]).toEqual([true, true]);
    gate.open(TENANT);
    const next = gate.endingOf(TENANT);
    expect([one.aborted, next.aborted, other.aborted]).toEqual([true, false, false]);
    gate.close(TENANT);
    expect([next.aborted, other.aborted]).toEqual([true, false]);
  });

  it("counts deletions, so that whoever was recognized before one is known by it", () => {
    const gate = new TenantGate();
    const before = gate.deletions;
    gate.close(TENANT);
    expect(gate.deletions).toBe(before);
    gate.open(TENANT);
    expect(gate.deletions).toBe(before + 1);
  });

  it("counts with them what else has changed about who may come in", () => {
    const gate = new TenantGate();
    const before = gate.changes;
    gate.changed();
    expect([gate.changes, gate.deletions]).toEqual([before + 1, 0]);
    gate.close(TENANT);
    gate.open(TENANT);
    expect([gate.changes, gate.deletions]).toEqual([before + 2, 1]);
  });
});

import { describe, expect, it } from "vitest";
import { parseTenantId, parseUserId } from "../../core/id.ts";
import {
  EXPORT_PROCESSES_MAX,
  EXPORT_WAIT_MS_MAX,
  EXPORTS_WAITING_MAX,
} from "../../core/limits.ts";
import { ManualClock } from "../../platform/manual-clock.fixture.ts";
import { type ExportPermit, ExportPermits, type ExportReader } from "./permits.ts";

/** Readers, and what became of each: a permit, which they keep, or the code of a refusal. */
class Readers {
  readonly clock = new ManualClock();
  readonly permits = new ExportPermits(this.clock);
  readonly fates = new Map<string, string>();
  readonly #permits = new Map<string, ExportPermit>();
  readonly #leaving = new Map<string, AbortController>();

  /** A reader named `tenant/user/n`; the operator has no user. */
  async comes(...names: readonly string[]) {
    for (const name of names) {
      const [tenant = "", user = ""] = name.split("/");
      const leaving = new AbortController();
      this.#leaving.set(name, leaving);
      const reader: ExportReader = {
        tenantId: parseTenantId(tenant) ?? expect.fail(),
        userId: user === "" ? null : parseUserId(user),
        signal: leaving.signal,
      };
      void this.permits.acquire(reader).then((permit) => {
        this.fates.set(name, permit.ok ? "writes" : permit.refusal.code);
        if (permit.ok) this.#permits.set(name, permit.value);
      });
    }
    await settled();
  }

  async ends(name: string) {
    this.#permits.get(name)?.release();
    await settled();
  }

  async leaves(name: string) {
    this.#leaving.get(name)?.abort();
    await settled();
  }

  /** Those of the slow ones that have to make room, in this order. */
  yielding(...slow: readonly string[]): readonly string[] {
    return slow.filter((name) => this.#permits.get(name)?.mustYield());
  }

  get writing(): readonly string[] {
    return [...this.fates].flatMap(([name, fate]) => (fate === "writes" ? [name] : []));
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("P10: the processes of exports", () => {
  it("are all for one person, and one more waits for the first that ends", async () => {
    const readers = new Readers();
    const names = Array.from({ length: EXPORT_PROCESSES_MAX }, (_, n) => `local//${n}`);
    await readers.comes(...names, "local//next");
    expect(readers.writing).toEqual(names);
    await readers.ends("local//0");
    await readers.ends("local//0");
    expect(readers.fates.get("local//next")).toBe("writes");
    await readers.comes("local//last");
    expect(readers.permits.waitingCount).toBe(1);
  });

  it("have a share for each user and tenant, and one for a tenant that has none", async () => {
    const readers = new Readers();
    await readers.comes("loud/ada/1", "loud/ada/2", "loud/ada/3", "loud/bob/1", "loud/bob/2");
    expect(readers.writing).toEqual(["loud/ada/1", "loud/ada/2", "loud/bob/1"]);
    await readers.comes("quiet/eve/1");
    expect(readers.fates.get("quiet/eve/1")).toBe("writes");
    // Those who wait hold none behind them.
    await readers.ends("quiet/eve/1");
    await readers.comes("quiet/eve/2");
    expect(readers.fates.get("quiet/eve/2")).toBe("writes");
    await readers.ends("loud/ada/1");
    expect(readers.fates.get("loud/ada/3")).toBeUndefined();
  });

  it("are not waited for without an end, nor by a reader who has left", async () => {
    const readers = new Readers();
    const names = Array.from({ length: EXPORT_PROCESSES_MAX }, (_, n) => `local//${n}`);
    await readers.comes(...names, "local//leaves", "local//waits");
    await readers.leaves("local//leaves");
    expect(readers.permits.waitingCount).toBe(1);
    readers.clock.advance(EXPORT_WAIT_MS_MAX);
    await settled();
    expect(readers.fates.get("local//waits")).toBe("export_busy");
    expect(readers.permits.waitingCount).toBe(0);
    await readers.ends("local//0");
    await readers.comes("local//after");
    expect(readers.writing).toEqual([...names, "local//after"]);
  });

  it("are left by one slow reader for each that waits, and by none if no one waits", async () => {
    const readers = new Readers();
    const slow = Array.from({ length: EXPORT_PROCESSES_MAX }, (_, n) => `local//${n}`);
    await readers.comes(...slow);
    expect(readers.yielding(...slow)).toEqual([]);
    await readers.comes("local//waits");
    expect(readers.yielding(...slow)).toEqual(["local//0"]);
    await readers.ends("local//0");
    expect(readers.fates.get("local//waits")).toBe("writes");
    expect(readers.yielding(...slow)).toEqual([]);
  });

  it("are not left by the readers of others for one whose own share is used up", async () => {
    const readers = new Readers();
    await readers.comes("quiet/eve/1", "loud/ada/1", "loud/ada/2", "loud/ada/3");
    expect(readers.writing).toEqual(["quiet/eve/1", "loud/ada/1", "loud/ada/2"]);
    expect(readers.yielding("quiet/eve/1", "loud/ada/2", "loud/ada/1")).toEqual(["loud/ada/2"]);
  });

  it("are waited for by so many only, of whom a tenant has its share", async () => {
    const readers = new Readers();
    await readers.comes(...Array.from({ length: EXPORT_PROCESSES_MAX }, (_, n) => `a//${n}`));
    const crowd = Array.from({ length: EXPORTS_WAITING_MAX }, (_, n) => `loud/ada/${n}`);
    await readers.comes(...crowd);
    const refused = [...readers.fates.values()].filter((fate) => fate === "export_busy").length;
    expect(refused).toBeGreaterThan(EXPORTS_WAITING_MAX / 4);
    await readers.comes("quiet/eve/1");
    expect(readers.fates.get("quiet/eve/1")).toBeUndefined();
    readers.permits.end();
    await settled();
    expect(readers.fates.get("quiet/eve/1")).toBe("server_stopping");
  });
});

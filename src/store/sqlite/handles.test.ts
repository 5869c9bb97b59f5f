import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parseTenantId } from "../../core/id.ts";
import { TENANT_DATABASES_OPEN_MAX } from "../../core/limits.ts";
import { withStore } from "./damage.fixture.ts";
import { makeDatabaseFile, TenantDatabase } from "./database.ts";
import { Handles } from "./handles.ts";

it("P10: to look at a database that was closed does not open it again", async () => {
  await withStore(async ({ path }) => {
    await mkdir(join(path, "tenants"), { recursive: true });
    let opened = 0;
    const handles = new Handles(
      (file) => {
        opened += 1;
        return new TenantDatabase(file, "write");
      },
      () => {},
    );
    const files = Array.from({ length: TENANT_DATABASES_OPEN_MAX + 2 }, (_, n) => {
      const tenantId = parseTenantId(`tenant-${n}`);
      if (tenantId === null) throw new Error("no tenant");
      return makeDatabaseFile(path, tenantId);
    });
    const databases = files.map((file) => handles.get(file));
    const seen = files.map((file) => handles.peek(file));
    expect(opened).toBe(files.length);
    expect(seen).toEqual([null, null, ...databases.slice(2)]);
    handles.dropAll();
  });
});

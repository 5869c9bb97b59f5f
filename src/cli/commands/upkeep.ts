import { existsSync, readdirSync } from "node:fs";
import type { TenantId } from "../../core/id.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import { missingSessions } from "../../session/health/missing-sessions.ts";
import { missingTenants } from "../../session/health/missing-tenants.ts";
import { SessionLocator } from "../../store/index.ts";
import { tenantsFolder } from "../../store/sqlite/database.ts";
import { reindexTenants } from "../../store/sqlite/search-build.ts";
import { type Vacuumed, vacuumTenants } from "../../store/sqlite/vacuum.ts";
import type { SessionKey } from "../../store/store.ts";
import type { RowValues } from "../parse-row.ts";
import { locatedFolder } from "../serve/store.ts";
import { checkBundledStore } from "../store-marker.ts";
import { MISSING, REINDEX, VACUUM } from "../table/care.ts";
import { type CommandOutput, inStore, runCommand, storeFolder, wrong } from "./data-command.ts";

/** Lists the sessions that the store lacks. */
export function missing(args: readonly string[]): Promise<number> {
  const read = (flags: RowValues<typeof MISSING>, [extra]: readonly string[]) => {
    const { forget = false } = flags;
    if (extra !== undefined) return wrong(`"${extra}" is too much`);
    return ok((data: string) => listMissing(data, forget));
  };
  return runCommand({ row: MISSING, read }, args);
}

function listMissing(data: string, isForgotten: boolean): Promise<Result<CommandOutput>> {
  const locator = new SessionLocator(locatedFolder(data));
  return inStore(data, async (store) => {
    const found = await missingSessions(store, locator);
    if (!found.ok) return found;
    const tenants = await missingTenants(store, locator);
    if (!tenants.ok) return tenants;
    const { missing: sessions } = found.value;
    const forgotten = isForgotten ? await forgetAll(locator, sessions, tenants.value) : DONE;
    if (!forgotten.ok) return forgotten;
    const lines = [
      ...tenants.value.map((tenantId) => `${tenantId} -`),
      ...sessions.map(({ tenantId, sessionId }) => `${tenantId} ${sessionId}`),
    ];
    if (lines.length === 0) return ok({ notices: ["No session is missing."] });
    const what = isForgotten ? "forgotten" : "missing; restore a backup, or use --forget";
    const all = tenants.value.length > 0 ? " and tenants" : "";
    const notices = [`${lines.length} of the stored sessions${all}: ${what}.`];
    return ok({ shown: lines.join("\n"), notices, exitCode: isForgotten ? 0 : 1 });
  });
}

async function forgetAll(
  locator: SessionLocator,
  sessions: readonly SessionKey[],
  tenants: readonly TenantId[],
): Promise<Result<void>> {
  for (const key of sessions) {
    const forgotten = await locator.forget(key);
    if (!forgotten.ok) return forgotten;
  }
  for (const tenantId of tenants) {
    const forgotten = await locator.forgetTenantItself(tenantId);
    if (!forgotten.ok) return forgotten;
  }
  return DONE;
}

/** Makes the databases of a data directory as small as their content. */
export function vacuum(args: readonly string[]): Promise<number> {
  const read = (_: unknown, [extra]: readonly string[]) => {
    if (extra !== undefined) return wrong(`"${extra}" is too much`);
    return ok(vacuumAll);
  };
  return runCommand({ row: VACUUM, read }, args);
}

async function vacuumAll(data: string): Promise<Result<CommandOutput>> {
  const databases = await databasesOf(data);
  if (!databases.ok) return databases;
  const done = vacuumTenants(databases.value.root, databases.value.names);
  const lines = done.map(lineOf);
  const gained = done.reduce((sum, one) => sum + one.bytesBefore - one.bytesAfter, 0);
  const faults = done.flatMap(({ tenantId, fault }) =>
    fault === null ? [] : [`Tenant ${tenantId} was left as it is: ${fault}.`],
  );
  const shown = [...lines, `${gained} bytes given back.`].join("\n");
  return ok({ shown, notices: faults, exitCode: faults.length > 0 ? 1 : 0 });
}

function lineOf({ tenantId, bytesBefore, bytesAfter }: Vacuumed): string {
  return `${tenantId}: ${bytesBefore} -> ${bytesAfter} bytes`;
}

/** Makes the index of the search anew, for all tenants. */
export function reindex(args: readonly string[]): Promise<number> {
  const read = (_: unknown, [extra]: readonly string[]) => {
    if (extra !== undefined) return wrong(`"${extra}" is too much`);
    return ok(reindexAll);
  };
  return runCommand({ row: REINDEX, read }, args);
}

async function reindexAll(data: string): Promise<Result<CommandOutput>> {
  const databases = await databasesOf(data);
  if (!databases.ok) return databases;
  const done = await reindexTenants(databases.value.root, databases.value.names);
  const faults = done.flatMap(({ tenantId, fault }) =>
    fault === null ? [] : [`The index of tenant ${tenantId} is not whole: ${fault}.`],
  );
  const whole = done.filter(({ fault }) => fault === null);
  const lines = whole.map(({ tenantId, texts }) => `${tenantId}: ${texts} texts can be found`);
  const shown = lines.length > 0 ? lines.join("\n") : undefined;
  const exitCode = faults.length > 0 ? 1 : 0;
  return ok({ ...(shown !== undefined && { shown }), notices: faults, exitCode });
}

/** The folders of all tenants of a data directory, in order. */
async function databasesOf(data: string) {
  const own = await checkBundledStore(data);
  if (!own.ok) return own;
  const root = storeFolder(data);
  const folder = tenantsFolder(root);
  if (!existsSync(folder)) return fail("store_unavailable", { reason: `there is no ${folder}` });
  return ok({ root, names: readdirSync(folder).toSorted() });
}

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { TenantId } from "../../core/id.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { SYSTEM_CLOCK } from "../../platform/clock.ts";
import { Members } from "../../server/identity/members.ts";
import { countSessions } from "../../session/replay.ts";
import { checkNoForeignHolders, isAliveHere, thisHolder } from "../../store/holder.ts";
import { SessionLocator } from "../../store/locator.ts";
import { tenantFolder } from "../../store/sqlite/database.ts";
import { openersOf, unreadableIn } from "../../store/sqlite/openers.ts";
import type { SessionStore } from "../../store/store.ts";
import { expectedWord } from "../command-line.ts";
import { tableText } from "../output.ts";
import type { RowValues } from "../parse-row.ts";
import { TENANTS } from "../table/people.ts";
import {
  type CommandOutput,
  type DataAction,
  inStore,
  runCommand,
  storeFolder,
  wrong,
} from "./data-command.ts";
import { readTenantName, requireTenant } from "./tenant-lookup.ts";

/** Lists tenants, or deletes one. */
export function tenants(args: readonly string[]): Promise<number> {
  return runCommand({ row: TENANTS, read }, args);
}

function read(
  { yes: isSure }: RowValues<typeof TENANTS>,
  words: readonly string[],
): Result<DataAction> {
  const [verb, name, ...more] = words;
  if (verb === "list" && name === undefined) return ok((data) => inDirectory(data, listTenants));
  if (verb !== "delete" || name === undefined || more.length > 0) {
    return wrong(expectedWord(verb, "list, or delete NAME"));
  }
  const tenantId = readTenantName(name);
  if (!tenantId.ok) return tenantId;
  const act = isSure ? deleteTenant : describeDeletion;
  return ok((data) => inDirectory(data, (directory) => act(directory, tenantId.value)));
}

interface OpenDirectory {
  readonly store: SessionStore;
  readonly folder: string;
  /** The server that had the store open before this command, in words. */
  readonly server: string | null;
}

function inDirectory(
  data: string,
  act: (directory: OpenDirectory) => Promise<Result<CommandOutput>>,
): Promise<Result<CommandOutput>> {
  const folder = storeFolder(data);
  const server = serverAt(folder); // Before this command opens it.
  const locator = new SessionLocator(join(data, "located"));
  return inStore(data, (store) => act({ store, folder, server }), {
    location: { locator, isLasting: true },
  });
}

/** Ignores servers on other machines: the directory may be a copy from there. */
function serverAt(folder: string): string | null {
  const [server] = openersOf(folder).filter(isAliveHere);
  if (server !== undefined) return `process ${server.pid} on ${server.host}`;
  const [note] = unreadableIn(folder);
  return note === undefined ? null : `of another user, by ${note}`;
}

async function listTenants({ store, folder }: OpenDirectory): Promise<Result<CommandOutput>> {
  const all = await store.tenants();
  if (!all.ok) return all;
  const rows: string[][] = [];
  for (const tenantId of all.value) {
    const { sessions, members, bytes } = await sizesOf(store, folder, tenantId);
    rows.push([tenantId, sessions, members, bytes]);
  }
  return ok({ shown: tableText(["TENANT", "SESSIONS", "MEMBERS", "BYTES"], rows) });
}

async function describeDeletion(
  { store, folder }: OpenDirectory,
  tenantId: TenantId,
): Promise<Result<CommandOutput>> {
  const there = await requireTenant(store, tenantId);
  if (!there.ok) return there;
  const { sessions, members, bytes } = await sizesOf(store, folder, tenantId);
  const all = `${sessions} sessions, ${members} members, ${bytes} bytes`;
  const shown = `This would delete tenant ${tenantId} for good: ${all}. To do it, add --yes.`;
  return ok({ shown, exitCode: 2 });
}

async function deleteTenant(
  { store, server }: OpenDirectory,
  tenantId: TenantId,
): Promise<Result<CommandOutput>> {
  const there = await requireTenant(store, tenantId);
  if (!there.ok) return there;
  if (server !== null) return inUse(tenantId, server);
  const holder = thisHolder("fermata tenants");
  const free = await checkNoForeignHolders(store, tenantId, holder);
  if (!free.ok) return free;
  const removed = await store.removeTenant(tenantId, holder);
  return removed.ok ? ok({ shown: `Tenant ${tenantId} is deleted.` }) : removed;
}

function inUse(tenantId: TenantId, holder: string): Result<never> {
  const how = "stop it first, or let an owner send DELETE /tenant";
  const reason = `Tenant "${tenantId}" is in use by a server, ${holder}: ${how}.`;
  return fail("invalid_request", { reason });
}

/** The sizes of a tenant, as texts; a question mark for one that cannot be read. */
async function sizesOf(store: SessionStore, folder: string, tenantId: TenantId) {
  const members = await new Members(store, SYSTEM_CLOCK).list(tenantId);
  const sessions = await countSessions(store, tenantId);
  const bytes = await bytesOf(tenantFolder(folder, tenantId));
  return {
    sessions: sessions.ok ? `${sessions.value}` : "?",
    members: members.ok ? `${members.value.length}` : "?",
    bytes: `${bytes}`,
  };
}

/** A file that disappears meanwhile counts as empty. */
async function bytesOf(folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => []);
  const files = names.map((name) => stat(join(folder, name)).catch(() => null));
  const sizes = (await Promise.all(files)).map((file) => file?.size ?? 0);
  return sizes.reduce((sum, size) => sum + size, 0);
}

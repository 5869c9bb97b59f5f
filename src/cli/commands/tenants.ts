import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { TenantId } from "../../core/id.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { Members } from "../../server/identity/members.ts";
import { checkNoForeignHolders } from "../../server/route/tenant.ts";
import { countSessions } from "../../session/session-pages.ts";
import { SYSTEM_CLOCK } from "../../session/system.ts";
import { isAliveHere, thisHolder } from "../../store/holder.ts";
import { SessionLocator } from "../../store/locator.ts";
import { tenantFolder } from "../../store/sqlite/database.ts";
import { openersOf, unreadableIn } from "../../store/sqlite/openers.ts";
import type { SessionStore } from "../../store/store.ts";
import { tableText } from "../output.ts";
import {
  DATA_OPTIONS,
  type DataAct,
  inStore,
  type Outcome,
  runCommand,
  storeFolder,
  wrong,
} from "./data-command.ts";
import { knownTenant, namedTenant } from "./tenant-lookup.ts";

const TENANTS_USAGE = `Usage: fermata tenants list
       fermata tenants delete NAME --yes

The tenants of a data directory, and the end of one: its sessions, journals and
audit, credits, members, tokens and workspaces, and nothing of another. There is
no way back. Without --yes it only says what would be deleted.

Nothing is deleted beside a server that is at work in the directory. There an owner
of the tenant sends DELETE /tenant; or stop the server first.

Options:
  --data DIR     The server's data directory (~/.fermata, or FERMATA_DATA).
  --yes          Delete it.
`;

const OPTIONS = {
  ...DATA_OPTIONS,
  yes: { type: "boolean", default: false },
} as const;

/** Lists tenants, or deletes one. */
export function tenants(args: readonly string[]): Promise<number> {
  return runCommand({ name: "tenants", usage: TENANTS_USAGE, parse, read }, args);
}

const parse = (args: readonly string[]) =>
  parseArgs({ args, options: OPTIONS, allowPositionals: true });

type Given = ReturnType<typeof parse>["values"];

function read({ yes: isSure }: Given, words: readonly string[]): Result<DataAct> {
  const [verb, name, ...more] = words;
  if (verb === "list" && name === undefined) return ok((data) => inLocated(data, listed));
  if (verb !== "delete" || name === undefined || more.length > 0) {
    return wrong("it takes list, or delete NAME");
  }
  const tenantId = namedTenant(name);
  if (!tenantId.ok) return tenantId;
  const act = isSure ? deleted : described;
  return ok((data) => inLocated(data, (place) => act(place, tenantId.value)));
}

/** What there is to act on. */
interface Place {
  readonly store: SessionStore;
  readonly folder: string;
  /** Who had it open before we did, in words. */
  readonly server: string | null;
}

function inLocated(
  data: string,
  act: (place: Place) => Promise<Result<Outcome>>,
): Promise<Result<Outcome>> {
  const folder = storeFolder(data);
  const server = serverAt(folder); // Before we have it open ourselves.
  const locator = new SessionLocator(join(data, "located"));
  return inStore(data, (store) => act({ store, folder, server }), {
    location: { locator, isLasting: true },
  });
}

/** Who has it open, in words. Nobody elsewhere is meant: the directory may have come from there. */
function serverAt(folder: string): string | null {
  const [server] = openersOf(folder).filter(isAliveHere);
  if (server !== undefined) return `process ${server.pid} on ${server.host}`;
  const [note] = unreadableIn(folder);
  return note === undefined ? null : `of another user, who has left ${note}`;
}

async function listed({ store, folder }: Place): Promise<Result<Outcome>> {
  const all = await store.tenants();
  if (!all.ok) return all;
  const rows: string[][] = [];
  for (const tenantId of all.value) {
    const { sessions, members, bytes } = await figuresOf(store, folder, tenantId);
    rows.push([tenantId, sessions, members, bytes]);
  }
  return ok({ shown: tableText(["TENANT", "SESSIONS", "MEMBERS", "BYTES"], rows) });
}

async function described({ store, folder }: Place, tenantId: TenantId): Promise<Result<Outcome>> {
  const there = await knownTenant(store, tenantId);
  if (!there.ok) return there;
  const { sessions, members, bytes } = await figuresOf(store, folder, tenantId);
  const all = `${sessions} sessions, ${members} members, ${bytes} bytes`;
  const shown = `This would delete tenant ${tenantId} for good: ${all}. To do it, add --yes.`;
  return ok({ shown, exitCode: 2 });
}

async function deleted({ store, server }: Place, tenantId: TenantId): Promise<Result<Outcome>> {
  const there = await knownTenant(store, tenantId);
  if (!there.ok) return there;
  if (server !== null) return inUse(tenantId, server);
  const holder = thisHolder("fermata tenants");
  const free = await checkNoForeignHolders(store, tenantId, holder);
  if (!free.ok) return free;
  const removed = await store.removeTenant(tenantId, holder);
  return removed.ok ? ok({ shown: `Tenant ${tenantId} is deleted.` }) : removed;
}

function inUse(tenantId: TenantId, holder: string): Result<never> {
  const how = "let an owner send it DELETE /tenant, or stop it first";
  const reason = `Tenant "${tenantId}" is in the hands of a server, ${holder}: ${how}.`;
  return fail("invalid_request", { reason });
}

/** What there is of a tenant, in words; what cannot be read is not known. */
export async function figuresOf(store: SessionStore, folder: string, tenantId: TenantId) {
  const members = await new Members(store, SYSTEM_CLOCK).list(tenantId);
  const sessions = await countSessions(store, tenantId);
  const bytes = await bytesOf(tenantFolder(folder, tenantId));
  return {
    sessions: sessions.ok ? `${sessions.value}` : "?",
    members: members.ok ? `${members.value.length}` : "?",
    bytes: `${bytes}`,
  };
}

/** A file that goes while it is looked at weighs nothing. */
async function bytesOf(folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => []);
  const files = names.map((name) => stat(join(folder, name)).catch(() => null));
  const sizes = (await Promise.all(files)).map((file) => file?.size ?? 0);
  return sizes.reduce((sum, size) => sum + size, 0);
}

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { errorBody } from "../../core/error.ts";
import { parseTenantId, type TenantId } from "../../core/id.ts";
import { PAGE_ROWS_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { freeOfOthers } from "../../server/held-sessions.ts";
import { Members } from "../../server/identity/members.ts";
import { SYSTEM_CLOCK } from "../../session/system.ts";
import { isAliveHere, thisHolder } from "../../store/holder.ts";
import { withLocator } from "../../store/located.ts";
import { SessionLocator } from "../../store/locator.ts";
import { tenantFolder } from "../../store/sqlite/database.ts";
import { openersOf, unreadableIn } from "../../store/sqlite/presence.ts";
import type { SessionStore } from "../../store/store.ts";
import { homeOf } from "../home.ts";
import { tableText } from "../table.ts";
import { knownTenant } from "./known-tenant.ts";
import { inStore } from "./stored-session.ts";

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
  data: { type: "string" },
  yes: { type: "boolean", default: false },
  help: { type: "boolean", short: "h" },
} as const;

interface Wish {
  /** The data directory. */
  readonly data: string;
  /** The one to delete; null lists them all. */
  readonly tenantId: TenantId | null;
  readonly isSure: boolean;
}

/** What the person is told, and the exit code that goes with it. */
interface Outcome {
  readonly said: string;
  readonly exitCode: number;
}

/** Lists tenants, or deletes one. */
export async function tenants(args: readonly string[]): Promise<number> {
  const wish = readWish(args, process.env);
  if (!wish.ok) {
    console.error(`fermata: ${errorBody(wish.refusal).error}; see "fermata tenants --help".`);
    return 2;
  }
  if (wish.value === "help") {
    process.stdout.write(TENANTS_USAGE);
    return 0;
  }
  const done = await carryOut(wish.value);
  if (!done.ok) {
    console.error(`fermata: ${errorBody(done.refusal).error}`);
    return 1;
  }
  process.stdout.write(`${done.value.said}\n`);
  return done.value.exitCode;
}

/** Reads a command line; what makes no sense is refused with the sentence that says why. */
function readWish(args: readonly string[], env: NodeJS.ProcessEnv): Result<Wish | "help"> {
  try {
    const parsed = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
    const { yes: isSure, help } = parsed.values;
    if (help) return ok("help");
    const data = parsed.values.data ?? env.FERMATA_DATA ?? homeOf(env);
    const [act, name, ...more] = parsed.positionals;
    if (act === "list" && name === undefined) return ok({ data, tenantId: null, isSure });
    if (act !== "delete" || name === undefined || more.length > 0) {
      return wrong("it takes list, or delete NAME");
    }
    const tenantId = parseTenantId(name);
    if (tenantId === null) return wrong("a tenant's name is of letters, digits and . _ : -");
    return ok({ data, tenantId, isSure });
  } catch (thrown) {
    const [reason = ""] = (thrown instanceof Error ? thrown.message : String(thrown)).split(". ");
    return wrong(reason);
  }
}

function carryOut({ data, tenantId, isSure }: Wish): Promise<Result<Outcome>> {
  const folder = join(data, "sessions");
  const server = serverAt(folder); // Before we have it open ourselves.
  return inStore(folder, (plain) => {
    const locator = new SessionLocator(join(data, "located"));
    const store = withLocator(plain, locator, { isLasting: true });
    if (tenantId === null) return listed(store, folder);
    if (!isSure) return described(store, folder, tenantId);
    return deleted(store, tenantId, server);
  });
}

/** Who has it open, in words. Nobody elsewhere is meant: the directory may have come from there. */
function serverAt(folder: string): string | null {
  const [server] = openersOf(folder).filter(isAliveHere);
  if (server !== undefined) return `process ${server.pid} on ${server.host}`;
  const [note] = unreadableIn(folder);
  return note === undefined ? null : `of another user, who has left ${note}`;
}

async function listed(store: SessionStore, folder: string): Promise<Result<Outcome>> {
  const all = await store.tenants();
  if (!all.ok) return all;
  const rows: string[][] = [];
  for (const tenantId of all.value) {
    const { sessions, members, bytes } = await figuresOf(store, folder, tenantId);
    rows.push([tenantId, sessions, members, bytes]);
  }
  return ok({ said: tableText(["TENANT", "SESSIONS", "MEMBERS", "BYTES"], rows), exitCode: 0 });
}

async function described(
  store: SessionStore,
  folder: string,
  tenantId: TenantId,
): Promise<Result<Outcome>> {
  const there = await knownTenant(store, tenantId);
  if (!there.ok) return there;
  const { sessions, members, bytes } = await figuresOf(store, folder, tenantId);
  const all = `${sessions} sessions, ${members} members, ${bytes} bytes`;
  const said = `This would delete tenant ${tenantId} for good: ${all}. To do it, add --yes.`;
  return ok({ said, exitCode: 2 });
}

async function deleted(
  store: SessionStore,
  tenantId: TenantId,
  server: string | null,
): Promise<Result<Outcome>> {
  const there = await knownTenant(store, tenantId);
  if (!there.ok) return there;
  if (server !== null) return inUse(tenantId, server);
  const holder = thisHolder("fermata tenants");
  const free = await freeOfOthers(store, tenantId, holder);
  if (!free.ok) return free;
  const removed = await store.removeTenant(tenantId, holder);
  return removed.ok ? ok({ said: `Tenant ${tenantId} is deleted.`, exitCode: 0 }) : removed;
}

function inUse(tenantId: TenantId, holder: string): Result<never> {
  const how = "let an owner send it DELETE /tenant, or stop it first";
  const reason = `Tenant "${tenantId}" is in the hands of a server, ${holder}: ${how}.`;
  return fail("invalid_request", { reason });
}

/** What there is of a tenant, in words; what cannot be read is not known. */
async function figuresOf(store: SessionStore, folder: string, tenantId: TenantId) {
  const members = await new Members(store, SYSTEM_CLOCK).list(tenantId);
  const sessions = await sessionCount(store, tenantId);
  const bytes = await bytesOf(tenantFolder(folder, tenantId));
  return {
    sessions: sessions.ok ? `${sessions.value}` : "?",
    members: members.ok ? `${members.value.length}` : "?",
    bytes: `${bytes}`,
  };
}

async function sessionCount(store: SessionStore, tenantId: TenantId): Promise<Result<number>> {
  let count = 0;
  let cursor: string | null = null;
  do {
    const page = await store.list(tenantId, {}, { limit: PAGE_ROWS_MAX, cursor });
    if (!page.ok) return page;
    count += page.value.sessions.length + page.value.damaged.length;
    cursor = page.value.nextCursor;
  } while (cursor !== null);
  return ok(count);
}

/** A file that goes while it is looked at weighs nothing. */
async function bytesOf(folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => []);
  const files = names.map((name) => stat(join(folder, name)).catch(() => null));
  const sizes = (await Promise.all(files)).map((file) => file?.size ?? 0);
  return sizes.reduce((sum, size) => sum + size, 0);
}

function wrong(reason: string): Result<never> {
  return fail("invalid_request", { reason: `tenants: ${reason}` });
}

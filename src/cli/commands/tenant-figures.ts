import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { TenantId } from "../../core/id.ts";
import { Members } from "../../server/identity/members.ts";
import { countSessions } from "../../session/replay.ts";
import { SYSTEM_CLOCK } from "../../session/system.ts";
import { tenantFolder } from "../../store/sqlite/database.ts";
import type { SessionStore } from "../../store/store.ts";

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

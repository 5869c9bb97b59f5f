import { promptText } from "../../core/agent-update.ts";
import type { TenantId } from "../../core/id.ts";
import { DISPLAY_NAME_CHARS_MAX, FORK_NAMES_MAX } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import { cutText } from "../../core/text.ts";
import type { SessionKey, SessionStore } from "../../store/store.ts";
import { readMessage } from "../conversation/index.ts";

/** What a session is called: by its name, or else by how it began, as lists do. */
export async function sessionName(
  store: SessionStore,
  key: SessionKey,
  displayName: string | null,
): Promise<Result<string>> {
  if (displayName !== null) return ok(displayName);
  const page = await store.readMessages(key, { after: 0, limit: 1 });
  if (!page.ok) return page;
  const first = readMessage(page.value.rows[0]?.text ?? "");
  const said = first?.role === "user" ? promptText(first.content) : "";
  return ok(said.replace(/[\s\p{Cc}]+/gu, " ").trim() || "Session");
}

/** The name with ` (Branch)` behind it, and with a number as well if there is one such already. */
export async function branchName(
  store: SessionStore,
  tenantId: TenantId,
  name: string,
): Promise<Result<string>> {
  const numbered = (n: number) => withEnding(name, n === 1 ? " (Branch)" : ` (Branch ${n})`);
  const page = { limit: FORK_NAMES_MAX, cursor: null };
  const alike = await store.list(tenantId, { text: withEnding(name, " (Branch") }, page);
  if (!alike.ok) return alike;
  const taken = new Set(alike.value.sessions.map(({ displayName }) => displayName));
  let n = 1;
  while (taken.has(numbered(n))) n += 1;
  return ok(numbered(n));
}

/** Room is left for any number, so that names that differ in it differ in nothing else. */
function withEnding(name: string, ending: string): string {
  const chars = DISPLAY_NAME_CHARS_MAX - ` (Branch ${FORK_NAMES_MAX})`.length;
  return `${cutText(name, chars)}${ending}`;
}

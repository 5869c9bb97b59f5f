import { parseUserId, type TenantId, type UserId } from "../../core/id.ts";
import { TOKEN_GRACE_MS_MAX, TOKEN_LIFE_MS_MAX, TOKEN_NAME_CHARS_MAX } from "../../core/limits.ts";
import { parseRole, ROLES, type Role } from "../../core/permission.ts";
import { ok, type Result } from "../../core/result.ts";
import { SYSTEM_CLOCK } from "../../platform/clock.ts";
import { Members } from "../../server/identity/members.ts";
import { type IssuedToken, isInUse, type KeptToken, Tokens } from "../../server/identity/tokens.ts";
import type { SessionStore } from "../../store/store.ts";
import { expectedWord, oneOf } from "../command-line.ts";
import { minuteOf, tableText } from "../output.ts";
import type { RowValues } from "../parse-row.ts";
import { TOKENS } from "../table/people.ts";
import {
  type CommandOutput,
  type DataAction,
  durationMs,
  inNewStore,
  inStore,
  OPERATOR,
  runCommand,
  wrong,
} from "./data-command.ts";
import { addingMember, readTenantName, requireReadableTenant } from "./tenant-lookup.ts";

/** Makes, lists, revokes and rotates the tokens of a tenant. */
export function tokens(args: readonly string[]): Promise<number> {
  return runCommand({ row: TOKENS, read }, args);
}

/** The first token makes the store. */
function read(flags: TokensFlags, words: readonly string[]): Result<DataAction> {
  const tenantId = readTenantName(flags.tenant);
  if (!tenantId.ok) return tenantId;
  const request = readRequest(words, flags);
  if (!request.ok) return request;
  const within = request.value.act === "create" ? inNewStore : inStore;
  return ok((data) => within(data, (store) => perform(store, tenantId.value, request.value)));
}

async function perform(
  store: SessionStore,
  tenantId: TenantId,
  request: TokensRequest,
): Promise<Result<CommandOutput>> {
  const members = new Members(store, SYSTEM_CLOCK);
  const tokens = new Tokens(store, members, SYSTEM_CLOCK);
  switch (request.act) {
    case "create":
      return addingMember(store, tenantId, async () => {
        const known = await ensureMember(members, tenantId, request);
        if (!known.ok) return known;
        return mapped(await tokens.create(tenantId, request, OPERATOR), issued);
      });
    case "rotate":
      return mapped(await tokens.rotate(tenantId, request.id, request.graceMs, OPERATOR), issued);
    case "revoke":
      return mapped(await tokens.revoke(tenantId, request.id, OPERATOR), () => {
        return { shown: `Token ${request.id} is revoked.` };
      });
    case "list": {
      const there = await requireReadableTenant(store, tenantId);
      if (!there.ok) return there;
      return mapped(await tokens.list(tenantId), (all) => ({ shown: table(all) }));
    }
  }
}

/** Adds the user with the role of the token, unless they are a member already. */
async function ensureMember(
  members: Members,
  tenantId: TenantId,
  { userId, role }: Extract<TokensRequest, { act: "create" }>,
): Promise<Result<unknown>> {
  const known = await members.find(tenantId, userId);
  if (!known.ok || known.value !== null) return known;
  return members.put(tenantId, userId, role, { steward: OPERATOR, role: "owner" });
}

function mapped<Value>(
  result: Result<Value>,
  output: (value: Value) => CommandOutput,
): Result<CommandOutput> {
  return result.ok ? ok(output(result.value)) : result;
}

function issued({ text, kept: { id, userId, role } }: IssuedToken): CommandOutput {
  const notice = `token ${id} of ${userId} (${role}); it is shown only once.`;
  return { shown: text, notices: [notice] };
}

function table(all: readonly KeptToken[]): string {
  const nowMs = SYSTEM_CLOCK.nowMs();
  const rows = all.map((token) => [
    token.id,
    token.userId,
    token.role,
    isInUse(token, nowMs) ? "in use" : token.revokedAtMs === null ? "expired" : "revoked",
    minuteOf(token.createdAtMs),
    minuteOf(token.expiresAtMs),
    minuteOf(token.lastUsedAtMs),
    token.name ?? "",
  ]);
  const headings = ["ID", "USER", "ROLE", "STATE", "MADE", "EXPIRES", "LAST USE", "NAME"];
  return tableText(headings, rows);
}

type TokensRequest =
  | { readonly act: "list" }
  | { readonly act: "revoke"; readonly id: string }
  | { readonly act: "rotate"; readonly id: string; readonly graceMs: number }
  | {
      readonly act: "create";
      readonly userId: UserId;
      readonly role: Role;
      readonly name: string | null;
      readonly lifeMs: number | null;
    };

type TokensFlags = RowValues<typeof TOKENS>;

function readRequest(
  [act, id, ...more]: readonly string[],
  flags: TokensFlags,
): Result<TokensRequest> {
  if (more.length > 0) return wrong(`unexpected argument "${more[0]}"`);
  if (act === "list" && id === undefined) return ok({ act });
  if (act === "create" && id === undefined) return readCreation(flags);
  if (act === "revoke" && id !== undefined) return ok({ act, id });
  if (act === "rotate" && id !== undefined) {
    const graceMs = durationMs(flags.grace ?? "0s", TOKEN_GRACE_MS_MAX);
    return graceMs === null
      ? wrong("--grace must be a duration such as 30m or 12h, at most 7d")
      : ok({ act, id, graceMs });
  }
  return wrong(expectedWord(act, "create, list, revoke ID or rotate ID"));
}

function readCreation({ user, role: word, expires, name }: TokensFlags): Result<TokensRequest> {
  const userId = parseUserId(user ?? "");
  if (userId === null) return wrong("--user must have only letters, digits and . _ : -");
  const role = parseRole(word);
  if (role === null) return wrong(`--role must be ${oneOf(word ?? "", ROLES)}`);
  if (name !== undefined && !isName(name))
    return wrong("--name must have 1 to 128 printable characters");
  const lifeMs = expires === undefined ? null : durationMs(expires, TOKEN_LIFE_MS_MAX);
  if (expires !== undefined && !lifeMs)
    return wrong("--expires must be a duration such as 30m, 12h or 90d");
  return ok({ act: "create", userId, role, name: name ?? null, lifeMs });
}

function isName(name: string): boolean {
  return /^\P{Cc}+$/u.test(name) && name.length <= TOKEN_NAME_CHARS_MAX;
}

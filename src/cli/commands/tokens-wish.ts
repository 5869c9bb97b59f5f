import { parseArgs } from "node:util";
import { parseUserId, type TenantId, type UserId } from "../../core/id.ts";
import { TOKEN_GRACE_MS_MAX, TOKEN_LIFE_MS_MAX, TOKEN_NAME_CHARS_MAX } from "../../core/limits.ts";
import { parseRole, type Role } from "../../core/permission.ts";
import { ok, type Result } from "../../core/result.ts";
import { TENANT_OPTIONS, wrong } from "./command-frame.ts";
import { namedTenant } from "./known-tenant.ts";

export type TokensAct =
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

/** What a person wants of a tenant's tokens. */
export interface TokensWish {
  readonly tenantId: TenantId;
  readonly what: TokensAct;
}

const OPTIONS = {
  ...TENANT_OPTIONS,
  user: { type: "string" },
  role: { type: "string" },
  name: { type: "string" },
  expires: { type: "string" },
  grace: { type: "string" },
} as const;

/** Takes a command line apart. */
export const parseTokens = (args: readonly string[]) =>
  parseArgs({ args, options: OPTIONS, allowPositionals: true });

type Given = ReturnType<typeof parseTokens>["values"];

/** What makes no sense is refused with the sentence that says why. */
export function readTokens(given: Given, words: readonly string[]): Result<TokensWish> {
  const tenantId = namedTenant(given.tenant);
  if (!tenantId.ok) return tenantId;
  const what = actOf(words, given);
  return what.ok ? ok({ tenantId: tenantId.value, what: what.value }) : what;
}

function actOf([act, id, ...more]: readonly string[], given: Given): Result<TokensAct> {
  if (more.length > 0) return wrong(`"${more[0]}" is too much`);
  if (act === "list" && id === undefined) return ok({ act });
  if (act === "create" && id === undefined) return creation(given);
  if (act === "revoke" && id !== undefined) return ok({ act, id });
  if (act === "rotate" && id !== undefined) {
    const graceMs = durationOf(given.grace ?? "0s", TOKEN_GRACE_MS_MAX);
    return graceMs === null
      ? wrong("--grace is as 30m, 12h or 7d at most")
      : ok({ act, id, graceMs });
  }
  return wrong("it takes create, list, revoke ID or rotate ID");
}

function creation({ user, role: word, expires, ...given }: Given): Result<TokensAct> {
  const name = given.name ?? null;
  const userId = parseUserId(user ?? "");
  if (userId === null) return wrong("--user is of letters, digits and . _ : -");
  const role = parseRole(word);
  if (role === null) return wrong("--role is one of owner, admin, member, viewer");
  if (name !== null && !isName(name)) return wrong("--name has 1 to 128 printable characters");
  const lifeMs = expires === undefined ? null : durationOf(expires, TOKEN_LIFE_MS_MAX);
  if (expires !== undefined && !lifeMs) return wrong("--expires is as 30m, 12h or 90d");
  return ok({ act: "create", userId, role, name, lifeMs });
}

function isName(name: string): boolean {
  return /^\P{Cc}+$/u.test(name) && name.length <= TOKEN_NAME_CHARS_MAX;
}

const UNITS_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** `30d` in milliseconds; null is no duration, or one beyond the most. */
function durationOf(text: string, mostMs: number): number | null {
  const [, count = "", unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const ms = Number(count) * (UNITS_MS[unit] ?? Number.NaN);
  return ms <= mostMs ? ms : null;
}

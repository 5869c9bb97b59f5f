import { join } from "node:path";
import { parseArgs } from "node:util";
import { parseTenantId, parseUserId, type TenantId, type UserId } from "../../core/id.ts";
import { TOKEN_GRACE_MS_MAX, TOKEN_LIFE_MS_MAX, TOKEN_NAME_CHARS_MAX } from "../../core/limits.ts";
import { parseRole, type Role } from "../../core/permission.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { homeOf } from "../home.ts";

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

/** What a person wants of a tenant's tokens, and where these are. */
export interface TokensWish {
  readonly tenantId: TenantId;
  /** Of the store, inside the data directory. */
  readonly folder: string;
  readonly what: TokensAct;
}

const OPTIONS = {
  data: { type: "string" },
  tenant: { type: "string", default: "local" },
  user: { type: "string" },
  role: { type: "string" },
  name: { type: "string" },
  expires: { type: "string" },
  grace: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

type Given = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>["values"];

/** Reads a command line; what makes no sense is refused with the sentence that says why. */
export function readTokensWish(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Result<TokensWish | "help"> {
  try {
    const parsed = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
    const { values, positionals } = parsed;
    if (values.help) return ok("help");
    const tenantId = parseTenantId(values.tenant ?? "");
    if (tenantId === null) return wrong("a tenant's name is of letters, digits and . _ : -");
    const folder = join(values.data ?? env.FERMATA_DATA ?? homeOf(env), "sessions");
    const what = actOf(positionals, values);
    return what.ok ? ok({ tenantId, folder, what: what.value }) : what;
  } catch (thrown) {
    const [reason = ""] = (thrown instanceof Error ? thrown.message : String(thrown)).split(". ");
    return wrong(reason);
  }
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

function wrong(reason: string): Result<never> {
  return fail("invalid_request", { reason: `tokens: ${reason}` });
}

import { parseArgs } from "node:util";
import { parseUserId, type TenantId, type UserId } from "../../core/id.ts";
import { TOKEN_GRACE_MS_MAX, TOKEN_LIFE_MS_MAX, TOKEN_NAME_CHARS_MAX } from "../../core/limits.ts";
import { parseRole, type Role } from "../../core/permission.ts";
import { ok, type Result } from "../../core/result.ts";
import { Members } from "../../server/identity/members.ts";
import { type IssuedToken, isInUse, type KeptToken, Tokens } from "../../server/identity/tokens.ts";
import { SYSTEM_CLOCK } from "../../session/system.ts";
import type { SessionStore } from "../../store/store.ts";
import { minuteOf, tableText } from "../output.ts";
import {
  type DataAct,
  inMadeStore,
  inStore,
  OPERATOR,
  type Outcome,
  runCommand,
  TENANT_OPTIONS,
  wrong,
} from "./data-command.ts";
import { namedTenant, readableTenant, takingIn } from "./tenant-lookup.ts";

const TOKENS_USAGE = `Usage: fermata tokens create --user NAME --role ROLE [options]
       fermata tokens list | revoke ID | rotate ID [options]

Tokens with which people and programs prove who they are, for a server that runs
or for one that will. A new token is printed once; only its hash is kept.

Once there is a token, a server that is started wants one from everybody, on this
machine too. One that runs without tokens wants none until it is started again.

Options:
  --data DIR      The server's data directory (~/.fermata, or FERMATA_DATA).
  --tenant NAME   Whose tokens they are (local).
  --user NAME     Whom a new one is for; who is no member yet becomes one.
  --role ROLE     owner, admin, member or viewer; not more than the member is.
  --name TEXT     What to know it by.
  --expires TIME  As 12h or 90d; without it, it does not expire.
  --grace TIME    How long the old secret of a rotated one stays good (0s).
`;

/** Makes, lists, revokes and rotates the tokens of a tenant. */
export function tokens(args: readonly string[]): Promise<number> {
  const command = { name: "tokens", usage: TOKENS_USAGE, parse: parseTokens };
  return runCommand({ ...command, read: (...line) => actOf(readTokens(...line)) }, args);
}

/** A first token makes the store. */
function actOf(wish: Result<TokensWish>): Result<DataAct> {
  if (!wish.ok) return wish;
  const within = wish.value.what.act === "create" ? inMadeStore : inStore;
  return ok((data) => within(data, (store) => carryOut(store, wish.value)));
}

async function carryOut(
  store: SessionStore,
  { tenantId, what }: TokensWish,
): Promise<Result<Outcome>> {
  const members = new Members(store, SYSTEM_CLOCK);
  const kept = new Tokens(store, members, SYSTEM_CLOCK);
  switch (what.act) {
    case "create":
      return takingIn(store, tenantId, async () => {
        const known = await takeIn(members, tenantId, what);
        if (!known.ok) return known;
        return told(await kept.create(tenantId, what, OPERATOR), issued);
      });
    case "rotate":
      return told(await kept.rotate(tenantId, what.id, what.graceMs, OPERATOR), issued);
    case "revoke":
      return told(await kept.revoke(tenantId, what.id, OPERATOR), () => {
        return { shown: `Token ${what.id} opens nothing any more.` };
      });
    case "list": {
      const there = await readableTenant(store, tenantId);
      if (!there.ok) return there;
      return told(await kept.list(tenantId), (all) => ({ shown: table(all) }));
    }
  }
}

/** Who has the data directory says who belongs to a tenant; whoever does stays what they are. */
async function takeIn(
  members: Members,
  tenantId: TenantId,
  { userId, role }: Extract<TokensAct, { act: "create" }>,
): Promise<Result<unknown>> {
  const known = await members.find(tenantId, userId);
  if (!known.ok || known.value !== null) return known;
  return members.put(tenantId, userId, role, { steward: OPERATOR, role: "owner" });
}

function told<Value>(result: Result<Value>, say: (value: Value) => Outcome): Result<Outcome> {
  return result.ok ? ok(say(result.value)) : result;
}

function issued({ text, kept: { id, userId, role } }: IssuedToken): Outcome {
  const notice = `token ${id} of ${userId} (${role}); it is shown this once.`;
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
  const what = readAct(words, given);
  return what.ok ? ok({ tenantId: tenantId.value, what: what.value }) : what;
}

function readAct([act, id, ...more]: readonly string[], given: Given): Result<TokensAct> {
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

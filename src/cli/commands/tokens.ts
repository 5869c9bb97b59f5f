import type { TenantId } from "../../core/id.ts";
import { ok, type Result } from "../../core/result.ts";
import { Members } from "../../server/identity/members.ts";
import { type IssuedToken, isInUse, type KeptToken, Tokens } from "../../server/identity/tokens.ts";
import { SYSTEM_CLOCK } from "../../session/system.ts";
import type { SessionStore } from "../../store/store.ts";
import { minuteOf, tableText } from "../table.ts";
import { type DataAct, type Outcome, runCommand } from "./command-frame.ts";
import { inMadeStore, inStore } from "./data-store.ts";
import { readableTenant } from "./known-tenant.ts";
import { takingIn } from "./new-tenant.ts";
import { OPERATOR } from "./stored-session.ts";
import { parseTokens, readTokens, type TokensAct, type TokensWish } from "./tokens-wish.ts";

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

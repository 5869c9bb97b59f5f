import { parseArgs } from "node:util";
import { parseUserId, type TenantId } from "../../core/id.ts";
import { parseRole } from "../../core/permission.ts";
import { ok, type Result } from "../../core/result.ts";
import { type Member, Members } from "../../server/identity/members.ts";
import { Tokens } from "../../server/identity/tokens.ts";
import { SYSTEM_CLOCK } from "../../session/system.ts";
import type { SessionStore } from "../../store/store.ts";
import { minuteOf, tableText } from "../output.ts";
import {
  type DataAct,
  inStore,
  OPERATOR,
  type Outcome,
  runCommand,
  TENANT_OPTIONS,
  wrong,
} from "./data-command.ts";
import { namedTenant, readableTenant, takingIn } from "./tenant-lookup.ts";

const MEMBERS_USAGE = `Usage: fermata members list
       fermata members set USER ROLE
       fermata members remove USER

Who belongs to a tenant, and what they are in it: owner, admin, member or viewer.
All of it works beside a server at work, and counts with the next request; the
audit says what was done. Whoever is removed loses all tokens. The last owner stays.

Options:
  --data DIR     The server's data directory (~/.fermata, or FERMATA_DATA).
  --tenant NAME  Whose members (local).
`;

/** What an act may need: the members, their tokens, and all that there is. */
interface Hands {
  readonly known: Members;
  readonly tokens: Tokens;
  readonly store: SessionStore;
}

/** Answers with what the person is told. */
type Act = (hands: Hands, tenantId: TenantId) => Promise<Result<Outcome>>;

/** Lists, takes in, changes and removes the members of a tenant. */
export function members(args: readonly string[]): Promise<number> {
  return runCommand({ name: "members", usage: MEMBERS_USAGE, parse, read }, args);
}

const parse = (args: readonly string[]) =>
  parseArgs({ args, options: TENANT_OPTIONS, allowPositionals: true });

type Given = ReturnType<typeof parse>["values"];

function read({ tenant }: Given, words: readonly string[]): Result<DataAct> {
  const tenantId = namedTenant(tenant);
  if (!tenantId.ok) return tenantId;
  const act = actOf(words);
  if (!act.ok) return act;
  const inHands = (store: SessionStore) => act.value(handsOn(store), tenantId.value);
  return ok((data) => inStore(data, inHands));
}

function handsOn(store: SessionStore): Hands {
  const known = new Members(store, SYSTEM_CLOCK);
  return { known, tokens: new Tokens(store, known, SYSTEM_CLOCK), store };
}

function actOf([name, user, word, ...more]: readonly string[]): Result<Act> {
  if (more.length > 0) return wrong(`"${more[0]}" is too much`);
  if (name === "list" && user === undefined) return ok(list);
  const isSet = name === "set" && word !== undefined;
  const isRemove = name === "remove" && user !== undefined && word === undefined;
  if (!isSet && !isRemove) return wrong("it takes list, set USER ROLE or remove USER");
  const userId = parseUserId(user ?? "");
  if (userId === null) return wrong("a user's id is of letters, digits and . _ : -");
  if (isRemove) return ok(removing(userId));
  const role = parseRole(word);
  return role === null
    ? wrong("a role is one of owner, admin, member, viewer")
    : ok(setting(userId, role));
}

const list: Act = async ({ known, store }, tenantId) => {
  const there = await readableTenant(store, tenantId);
  if (!there.ok) return there;
  const all = await known.list(tenantId);
  if (!all.ok) return all;
  const rows = all.value.map(({ userId, role, addedAtMs }) => [userId, role, minuteOf(addedAtMs)]);
  return ok({ shown: tableText(["USER", "ROLE", "ADDED"], rows) });
};

/** Whoever has the data directory owns all that is in it. */
function setting(userId: Member["userId"], role: Member["role"]): Act {
  return ({ known, store }, tenantId) =>
    takingIn(store, tenantId, async () => {
      const set = await known.put(tenantId, userId, role, { steward: OPERATOR, role: "owner" });
      return set.ok ? ok({ shown: `${userId} is ${role} of ${tenantId}.` }) : set;
    });
}

/** Their tokens are dead as soon as they are no member; then they are cleared away. */
function removing(userId: Member["userId"]): Act {
  return async ({ known, tokens }, tenantId) => {
    const removed = await known.remove(tenantId, userId, OPERATOR);
    if (!removed.ok) return removed;
    const cleared = await tokens.removeOf(tenantId, userId);
    return cleared.ok ? ok({ shown: `${userId} is no member of ${tenantId} any more.` }) : cleared;
  };
}

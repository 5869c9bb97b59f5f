import { parseArgs } from "node:util";
import { parseUserId, type TenantId } from "../../core/id.ts";
import { parseRole } from "../../core/permission.ts";
import { ok, type Result } from "../../core/result.ts";
import { SYSTEM_CLOCK } from "../../platform/clock.ts";
import { type Member, Members } from "../../server/identity/members.ts";
import { Tokens } from "../../server/identity/tokens.ts";
import type { SessionStore } from "../../store/store.ts";
import { minuteOf, tableText } from "../output.ts";
import {
  type CommandOutput,
  type DataAction,
  inStore,
  OPERATOR,
  runCommand,
  TENANT_OPTIONS,
  wrong,
} from "./data-command.ts";
import { addingMember, readTenantName, requireReadableTenant } from "./tenant-lookup.ts";

const MEMBERS_USAGE = `Usage: fermata members list
       fermata members set USER ROLE
       fermata members remove USER

Lists and changes the members of a tenant. A role is owner, admin, member or viewer.
The command works beside a running server, and a change counts from the next request
on. The audit records it. A removed member loses all tokens. The last owner stays.

Options:
  --data DIR     The server's data directory (~/.fermata, or FERMATA_DATA).
  --tenant NAME  The tenant (local).
`;

/** Lists, adds, changes and removes the members of a tenant. */
export function members(args: readonly string[]): Promise<number> {
  return runCommand({ name: "members", usage: MEMBERS_USAGE, parse, read }, args);
}

const parse = (args: readonly string[]) =>
  parseArgs({ args, options: TENANT_OPTIONS, allowPositionals: true });

type MembersAction = (store: SessionStore, tenantId: TenantId) => Promise<Result<CommandOutput>>;

function read(
  { tenant }: ReturnType<typeof parse>["values"],
  words: readonly string[],
): Result<DataAction> {
  const tenantId = readTenantName(tenant);
  if (!tenantId.ok) return tenantId;
  const action = readAction(words);
  if (!action.ok) return action;
  return ok((data) => inStore(data, (store) => action.value(store, tenantId.value)));
}

function readAction([name, user, word, ...more]: readonly string[]): Result<MembersAction> {
  if (more.length > 0) return wrong(`unexpected argument "${more[0]}"`);
  if (name === "list" && user === undefined) return ok(list);
  const isSet = name === "set" && word !== undefined;
  const isRemove = name === "remove" && user !== undefined && word === undefined;
  if (!isSet && !isRemove) return wrong("expected list, set USER ROLE or remove USER");
  const userId = parseUserId(user ?? "");
  if (userId === null) return wrong("the id of a user has only letters, digits and . _ : -");
  if (isRemove) return ok(remove(userId));
  const role = parseRole(word);
  return role === null
    ? wrong("the role must be one of owner, admin, member, viewer")
    : ok(set(userId, role));
}

const list: MembersAction = async (store, tenantId) => {
  const there = await requireReadableTenant(store, tenantId);
  if (!there.ok) return there;
  const all = await membersOf(store).list(tenantId);
  if (!all.ok) return all;
  const rows = all.value.map(({ userId, role, addedAtMs }) => [userId, role, minuteOf(addedAtMs)]);
  return ok({ shown: tableText(["USER", "ROLE", "ADDED"], rows) });
};

/** The operator acts with the rights of an owner. */
function set(userId: Member["userId"], role: Member["role"]): MembersAction {
  return (store, tenantId) =>
    addingMember(store, tenantId, async () => {
      const by = { steward: OPERATOR, role: "owner" } as const;
      const done = await membersOf(store).put(tenantId, userId, role, by);
      return done.ok ? ok({ shown: `${userId} is ${role} of ${tenantId}.` }) : done;
    });
}

/** The removal already invalidates the member's tokens; they are deleted after it. */
function remove(userId: Member["userId"]): MembersAction {
  return async (store, tenantId) => {
    const members = membersOf(store);
    const removed = await members.remove(tenantId, userId, OPERATOR);
    if (!removed.ok) return removed;
    const tokens = new Tokens(store, members, SYSTEM_CLOCK);
    const deleted = await tokens.removeOf(tenantId, userId);
    return deleted.ok ? ok({ shown: `${userId} is no longer a member of ${tenantId}.` }) : deleted;
  };
}

function membersOf(store: SessionStore): Members {
  return new Members(store, SYSTEM_CLOCK);
}

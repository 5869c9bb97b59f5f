import { parseUserId, type TenantId } from "../../core/id.ts";
import { INVITATION_LIFE_MS_MAX, INVITATION_LIFE_MS_MIN } from "../../core/limits.ts";
import { parseRole, ROLES } from "../../core/permission.ts";
import { ok, type Result } from "../../core/result.ts";
import { SYSTEM_CLOCK } from "../../platform/clock.ts";
import { type InvitationRequest, Invitations, stateOf } from "../../server/identity/invitations.ts";
import { Members } from "../../server/identity/members.ts";
import { Tokens } from "../../server/identity/tokens.ts";
import type { Member } from "../../session/index.ts";
import type { SessionStore } from "../../store/store.ts";
import { expectedWord, oneOf } from "../command-line.ts";
import { minuteOf, tableText } from "../output.ts";
import type { RowValues } from "../parse-row.ts";
import { MEMBERS } from "../table/people.ts";
import {
  type CommandOutput,
  type DataAction,
  durationMs,
  inStore,
  OPERATOR,
  runCommand,
  wrong,
} from "./data-command.ts";
import { addingMember, readTenantName, requireReadableTenant } from "./tenant-lookup.ts";

/** Lists, adds, changes and removes the members of a tenant. */
export function members(args: readonly string[]): Promise<number> {
  return runCommand({ row: MEMBERS, read }, args);
}

type MembersAction = (store: SessionStore, tenantId: TenantId) => Promise<Result<CommandOutput>>;

function read(
  { tenant, expires }: RowValues<typeof MEMBERS>,
  words: readonly string[],
): Result<DataAction> {
  const tenantId = readTenantName(tenant);
  if (!tenantId.ok) return tenantId;
  if (expires !== undefined && words[0] !== "invite") return wrong("--expires is only for invite");
  const action = readAction(words, expires);
  if (!action.ok) return action;
  return ok((data) => inStore(data, (store) => action.value(store, tenantId.value)));
}

function readAction(
  [name, user, word, ...more]: readonly string[],
  expires: string | undefined,
): Result<MembersAction> {
  if (more.length > 0) return wrong(`unexpected argument "${more[0]}"`);
  if (name === "list" && user === undefined) return ok(list);
  if (name === "invitations" && user === undefined) return ok(listInvitations);
  if (name === "uninvite" && user !== undefined && word === undefined) return ok(uninvite(user));
  const isSet = (name === "set" || name === "invite") && word !== undefined;
  const isRemove = name === "remove" && user !== undefined && word === undefined;
  if (!isSet && !isRemove) return wrong(expectedWord(name, EXPECTED));
  const userId = parseUserId(user ?? "");
  if (userId === null) return wrong("the id of a user has only letters, digits and . _ : -");
  if (isRemove) return ok(remove(userId));
  const role = parseRole(word);
  if (role === null) return wrong(`the role must be ${oneOf(word ?? "", ROLES)}`);
  if (name === "set") return ok(set(userId, role));
  const lifeMs = expires === undefined ? null : durationMs(expires, INVITATION_LIFE_MS_MAX);
  if (expires !== undefined && (lifeMs ?? 0) < INVITATION_LIFE_MS_MIN) {
    return wrong("--expires must be a duration such as 12h or 7d, from 1m to 30d");
  }
  return ok(invite({ userId, role, lifeMs }));
}

const EXPECTED = "list, set USER ROLE, remove USER, invite USER ROLE, invitations or uninvite ID";

const list: MembersAction = async (store, tenantId) => {
  const there = await requireReadableTenant(store, tenantId);
  if (!there.ok) return there;
  const all = await membersOf(store).list(tenantId);
  if (!all.ok) return all;
  const rows = all.value.map(({ userId, role, addedAtMs }) => [userId, role, minuteOf(addedAtMs)]);
  return ok({ shown: tableText(["USER", "ROLE", "ADDED"], rows) });
};

function set(userId: Member["userId"], role: Member["role"]): MembersAction {
  return (store, tenantId) =>
    addingMember(store, tenantId, async () => {
      const done = await membersOf(store).put(tenantId, userId, role, AS_OWNER);
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

/** The code is printed alone, so that it can be copied or piped. */
function invite(request: InvitationRequest): MembersAction {
  return (store, tenantId) =>
    addingMember(store, tenantId, async () => {
      const made = await invitationsOf(store).create(tenantId, request, AS_OWNER);
      if (!made.ok) return made;
      const { code, kept } = made.value;
      const { id, userId, role } = kept;
      const until = `until ${minuteOf(kept.expiresAtMs)} UTC`;
      const notices = [
        `invitation ${id} of ${userId} (${role}) works once, ${until}; it is shown only once.`,
        `${userId} redeems it with: fermata join ${code} --url URL`,
      ];
      return ok({ shown: code, notices });
    });
}

const listInvitations: MembersAction = async (store, tenantId) => {
  const there = await requireReadableTenant(store, tenantId);
  if (!there.ok) return there;
  const all = await invitationsOf(store).list(tenantId);
  if (!all.ok) return all;
  const nowMs = SYSTEM_CLOCK.nowMs();
  const rows = all.value.map((one) => [
    one.id,
    one.userId,
    one.role,
    stateOf(one, nowMs),
    one.invitedBy ?? "-",
    minuteOf(one.createdAtMs),
    minuteOf(one.expiresAtMs),
  ]);
  const headings = ["ID", "USER", "ROLE", "STATE", "INVITED BY", "MADE", "EXPIRES"];
  return ok({ shown: tableText(headings, rows) });
};

function uninvite(id: string): MembersAction {
  return async (store, tenantId) => {
    const revoked = await invitationsOf(store).revoke(tenantId, id, AS_OWNER);
    return revoked.ok ? ok({ shown: `Invitation ${id} is revoked.` }) : revoked;
  };
}

/** The operator acts with the rights of an owner. */
const AS_OWNER = { steward: OPERATOR, role: "owner" } as const;

function invitationsOf(store: SessionStore): Invitations {
  const members = membersOf(store);
  return new Invitations(store, members, new Tokens(store, members, SYSTEM_CLOCK), SYSTEM_CLOCK);
}

function membersOf(store: SessionStore): Members {
  return new Members(store, SYSTEM_CLOCK);
}

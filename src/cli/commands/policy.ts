import type { TenantId } from "../../core/id.ts";
import { SUBMIT_TRIES_MAX } from "../../core/limits.ts";
import { BOUND_ROLES, type TenantPolicy } from "../../core/policy/ceiling.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { SYSTEM_CLOCK } from "../../platform/clock.ts";
import { firstProblem } from "../../server/http/request-schema.ts";
import { policyBody, policyOf } from "../../session/index.ts";
import { policyFields, TenantPolicies } from "../../session/tenant/tenant-policies.ts";
import type { SessionStore } from "../../store/store.ts";
import { expectedWord } from "../command-line.ts";
import { tableText } from "../output.ts";
import type { RowValues } from "../parse-row.ts";
import { POLICY } from "../table/people.ts";
import {
  type CommandOutput,
  type DataAction,
  inStore,
  OPERATOR,
  runCommand,
  wrong,
} from "./data-command.ts";
import { readTenantName, requireReadableTenant } from "./tenant-lookup.ts";

/** Shows and sets the policy of a tenant. */
export function policy(args: readonly string[]): Promise<number> {
  return runCommand({ row: POLICY, read }, args);
}

type PolicyAction = (store: SessionStore, tenantId: TenantId) => Promise<Result<CommandOutput>>;

function read({ tenant }: RowValues<typeof POLICY>, words: readonly string[]): Result<DataAction> {
  const tenantId = readTenantName(tenant);
  if (!tenantId.ok) return tenantId;
  const action = readAction(words);
  if (!action.ok) return action;
  return ok((data) =>
    inStore(data, async (store) => {
      const known = await requireReadableTenant(store, tenantId.value);
      return known.ok ? action.value(store, tenantId.value) : known;
    }),
  );
}

function readAction([name, ...words]: readonly string[]): Result<PolicyAction> {
  if (name === "set" && words.length > 0) {
    const settings = readSettings(words);
    return settings.ok ? ok(changed((old) => withSettings(old, settings.value))) : settings;
  }
  if (words.length > 0) return wrong(`unexpected argument "${words[0]}"`);
  if (name === "show") return ok(show);
  if (name === "reset") return ok(reset);
  return wrong(expectedWord(name, "show, set ROLE.FIELD=VALUE or reset"));
}

/** One `ROLE.FIELD=VALUE`; `visibility` has no role. */
interface PolicySetting {
  readonly role: string | null;
  readonly field: string;
  readonly value: unknown;
}

function readSettings(words: readonly string[]): Result<readonly PolicySetting[]> {
  const settings: PolicySetting[] = [];
  for (const word of words) {
    const [, role = null, field = "", text = ""] = /^(?:(\w+)\.)?(\w+)=(.*)$/s.exec(word) ?? [];
    if (field === "") return wrong(`expected ROLE.FIELD=VALUE, not "${word}"`);
    settings.push({ role, field, value: settingValue(field, text) });
  }
  return ok(settings);
}

/** Texts that are no value stay texts, which the schema refuses with the values that there are. */
function settingValue(field: string, text: string): unknown {
  if (field === "selfApproval") return text === "yes" ? true : text === "no" ? false : text;
  if (field === "mode" || field === "autonomy" || field === "visibility") return text;
  if (text === "any") return text;
  if (field === "children") return text === "none" ? text : limitsIn(text);
  return text === "none" ? [] : text.split(",");
}

/** `atOnce:2,tokens:500`; what is no number stays a text. */
function limitsIn(text: string): unknown {
  const pairs = text.split(",").map((pair) => pair.split(":"));
  const limits = pairs.map(([name = "", limit = ""]) => {
    return [name, /^\d+$/.test(limit) ? Number(limit) : limit];
  });
  return Object.fromEntries(limits);
}

/** The policy with these settings, by the rules that a request has to keep as well. */
function withSettings(
  { roles, visibility }: TenantPolicy,
  settings: readonly PolicySetting[],
): Result<TenantPolicy> {
  const raw: Record<string, unknown> = { visibility };
  const byRole: Record<string, Record<string, unknown>> = {
    owner: { ...roles.owner },
    admin: { ...roles.admin },
    member: { ...roles.member },
  };
  for (const { role, field, value } of settings) {
    if (role === null) raw[field] = value;
    else byRole[role] = { ...byRole[role], [field]: value };
  }
  const checked = policyBody.safeParse({ ...raw, roles: byRole });
  if (checked.success) return ok(policyOf(checked.data));
  const { path, text } = firstProblem(checked.error);
  return fail("invalid_request", {
    reason: `${path.replace(/^roles\./, "") || "policy"}: ${text}`,
  });
}

/** Another owner may change it meanwhile: then it is read again, and these settings are made. */
function changed(change: (old: TenantPolicy) => Result<TenantPolicy>): PolicyAction {
  return async (store, tenantId) => {
    const policies = new TenantPolicies(store, SYSTEM_CLOCK);
    for (let tries = 0; tries < SUBMIT_TRIES_MAX; tries += 1) {
      const stored = await policies.of(tenantId);
      if (!stored.ok) return stored;
      const wanted = change(stored.value.policy);
      if (!wanted.ok) return wanted;
      const { version } = stored.value;
      const set = await policies.set(tenantId, { version, policy: wanted.value }, OPERATOR);
      if (set.ok) return ok({ shown: shownPolicy(set.value.policy) });
      if (set.refusal.code !== "policy_conflict") return set;
    }
    return fail("server_busy");
  };
}

/** Mends a policy that cannot be read, too: a conflict tells the version that it has. */
const reset: PolicyAction = async (store, tenantId) => {
  const policies = new TenantPolicies(store, SYSTEM_CLOCK);
  let version = 0;
  for (let tries = 0; tries < SUBMIT_TRIES_MAX; tries += 1) {
    const set = await policies.set(tenantId, { version, policy: policyOf({}) }, OPERATOR);
    if (set.ok) return ok({ shown: shownPolicy(set.value.policy) });
    if (set.refusal.code !== "policy_conflict") return set;
    version = Number(set.refusal.details.version ?? 0);
  }
  return fail("server_busy");
};

const show: PolicyAction = async (store, tenantId) => {
  const stored = await new TenantPolicies(store, SYSTEM_CLOCK).of(tenantId);
  if (!stored.ok) return stored;
  const { version, policy: found } = stored.value;
  const notices = version === 0 ? ["No policy is set: this is what holds without one."] : [];
  return ok({ shown: shownPolicy(found), notices });
};

function shownPolicy({ roles, visibility }: TenantPolicy): string {
  const names = policyFields(roles.owner).map(([name]) => name);
  const rows = names.map((name) => [
    name,
    ...BOUND_ROLES.map((role) => new Map(policyFields(roles[role])).get(name) ?? ""),
  ]);
  const table = tableText(["FIELD", ...BOUND_ROLES.map((role) => role.toUpperCase())], rows);
  return `${table}\n\nNew sessions are visible to: ${visibility}`;
}

import { once } from "node:events";
import type { TenantId } from "../../core/id.ts";
import { ok, type Result } from "../../core/result.ts";
import { firstProblem } from "../../server/http/request-schema.ts";
import { auditFilterFields, auditFilterOf } from "../../server/route/audit.ts";
import {
  type AuditFileFormat,
  type AuditFilter,
  auditFile,
  isAuditFileFormat,
} from "../../session/audit/audit-view.ts";
import type { SessionStore } from "../../store/store.ts";
import { readCommandLine } from "../command-line.ts";
import {
  type CommandOutput,
  type DataAction,
  inStore,
  runCommand,
  TENANT_OPTIONS,
  wrong,
} from "./data-command.ts";
import { readTenantName, requireReadableTenant } from "./tenant-lookup.ts";

const AUDIT_USAGE = `Usage: fermata audit [options]

Prints the audit of a tenant: what was done, by whom, and what was refused. Each entry
is one line, the oldest first. The command works beside a running server.

Options:
  --data DIR       The server's data directory (~/.fermata, or FERMATA_DATA).
  --tenant NAME    The tenant (local).
  --session ID     Only entries of this session, also if it is deleted.
  --user NAME      Only entries of this user.
  --client ID      Only entries of this client.
  --act NAMES      Only these acts, as in token_created,token_revoked.
  --accepted WORD  true prints what was done, false what was refused.
  --from TIME      Only from this time on, as in 2026-05-01 or 2026-05-01T12:00Z.
  --to TIME        Only before this time.
  --format WORD    ndjson, a JSON object on each line, or csv (ndjson).
`;

const OPTIONS = {
  ...TENANT_OPTIONS,
  session: { type: "string" },
  user: { type: "string" },
  client: { type: "string" },
  act: { type: "string" },
  accepted: { type: "string" },
  from: { type: "string" },
  to: { type: "string" },
  format: { type: "string", default: "ndjson" },
} as const;

/** Prints the audit of a tenant. */
export function audit(args: readonly string[]): Promise<number> {
  return runCommand({ name: "audit", usage: AUDIT_USAGE, parse, read }, args);
}

const parse = (args: readonly string[]) => readCommandLine({ args, options: OPTIONS });

function read({
  data,
  help,
  tenant,
  format,
  ...filter
}: ReturnType<typeof parse>["values"]): Result<DataAction> {
  const tenantId = readTenantName(tenant);
  if (!tenantId.ok) return tenantId;
  if (!isAuditFileFormat(format)) return wrong("--format must be ndjson or csv");
  const fields = auditFilterFields.safeParse(filter);
  if (!fields.success) {
    const { path, text } = firstProblem(fields.error);
    return wrong(`--${path.split(".")[0]}: ${text}`);
  }
  const auditFilter = auditFilterOf(fields.data);
  return ok((path) => inStore(path, (store) => print(store, tenantId.value, auditFilter, format)));
}

/** Prints no faster than the output is read: a journal may be larger than the memory. */
async function print(
  store: SessionStore,
  tenantId: TenantId,
  filter: AuditFilter,
  format: AuditFileFormat,
): Promise<Result<CommandOutput>> {
  const known = await requireReadableTenant(store, tenantId);
  if (!known.ok) return known;
  const pieces = await auditFile(store, tenantId, filter, format);
  if (!pieces.ok) return pieces;
  for await (const piece of pieces.value) {
    if (!process.stdout.write(piece)) await once(process.stdout, "drain");
  }
  return ok({});
}

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
import type { RowValues } from "../parse-row.ts";
import { AUDIT } from "../table/people.ts";
import { type CommandOutput, type DataAction, inStore, runCommand, wrong } from "./data-command.ts";
import { readTenantName, requireReadableTenant } from "./tenant-lookup.ts";

/** Prints the audit of a tenant. */
export function audit(args: readonly string[]): Promise<number> {
  return runCommand({ row: AUDIT, read }, args);
}

function read(
  { data, help, tenant, format, ...filter }: RowValues<typeof AUDIT>,
  [word]: readonly string[],
): Result<DataAction> {
  if (word !== undefined) return wrong(`the word "${word}" is one too many`);
  const tenantId = readTenantName(tenant);
  if (!tenantId.ok) return tenantId;
  if (!isAuditFileFormat(format)) return wrong("--format must be ndjson or csv");
  const wanted = readFilter(filter);
  if (!wanted.ok) return wanted;
  return ok((path) => inStore(path, (store) => print(store, tenantId.value, wanted.value, format)));
}

/** The fields are those of `GET /audit`, and are read by the same rules. */
function readFilter(filter: object): Result<AuditFilter> {
  const fields = auditFilterFields.safeParse(filter);
  if (fields.success) return ok(auditFilterOf(fields.data));
  const { path, text } = firstProblem(fields.error);
  return wrong(`--${path.split(".")[0]}: ${text}`);
}

/** A journal may be larger than the memory, so its pieces are read only as they are printed. */
async function printPieces(pieces: AsyncIterable<string>): Promise<void> {
  for await (const piece of pieces) {
    if (!process.stdout.write(piece)) await once(process.stdout, "drain");
  }
}

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
  await printPieces(pieces.value);
  return ok({});
}

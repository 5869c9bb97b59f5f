import { once } from "node:events";
import { parseArgs } from "node:util";
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
import {
  type DataAct,
  inStore,
  type Outcome,
  runCommand,
  TENANT_OPTIONS,
  wrong,
} from "./data-command.ts";
import { namedTenant, readableTenant } from "./tenant-lookup.ts";

const AUDIT_USAGE = `Usage: fermata audit [options]

Prints what was done in a tenant, by whom, and what was refused: every entry that
is meant, the oldest first, one on a line. It works beside a server at work.

Options:
  --data DIR       The server's data directory (~/.fermata, or FERMATA_DATA).
  --tenant NAME    Whose audit (local).
  --session ID     Of this session, also if it is deleted.
  --user NAME      By this user.
  --client ID      By the client of this id.
  --act NAMES      Of these kinds, as in token_created,token_revoked.
  --accepted WORD  true is what was done, false what was refused.
  --from TIME      From then on, as in 2026-05-01 or 2026-05-01T12:00Z.
  --to TIME        Before then.
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

interface Wish {
  readonly tenantId: TenantId;
  readonly filter: AuditFilter;
  readonly format: AuditFileFormat;
}

/** Prints the audit of a tenant. */
export function audit(args: readonly string[]): Promise<number> {
  return runCommand({ name: "audit", usage: AUDIT_USAGE, parse, read }, args);
}

const parse = (args: readonly string[]) => parseArgs({ args, options: OPTIONS });

type Given = ReturnType<typeof parse>["values"];

function read({ data, help, tenant, format, ...chosen }: Given): Result<DataAct> {
  const tenantId = namedTenant(tenant);
  if (!tenantId.ok) return tenantId;
  if (!isAuditFileFormat(format)) return wrong("--format is ndjson or csv");
  const fields = auditFilterFields.safeParse(chosen);
  if (!fields.success) {
    const { path, text } = firstProblem(fields.error);
    return wrong(`--${path.split(".")[0]}: ${text}`);
  }
  const wish = { tenantId: tenantId.value, filter: auditFilterOf(fields.data), format };
  return ok((place) => inStore(place, (store) => print(store, wish)));
}

/** No faster than it is read: a journal may be longer than memory. */
async function print(
  store: SessionStore,
  { tenantId, filter, format }: Wish,
): Promise<Result<Outcome>> {
  const known = await readableTenant(store, tenantId);
  if (!known.ok) return known;
  const pieces = await auditFile(store, tenantId, filter, format);
  if (!pieces.ok) return pieces;
  for await (const piece of pieces.value) {
    if (!process.stdout.write(piece)) await once(process.stdout, "drain");
  }
  return ok({});
}

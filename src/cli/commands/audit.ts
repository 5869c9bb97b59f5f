import { once } from "node:events";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { errorBody } from "../../core/error.ts";
import { parseTenantId, type TenantId } from "../../core/id.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import { auditFilterFields, auditFilterOf } from "../../server/audit-filter.ts";
import { firstProblem } from "../../server/request-schema.ts";
import type { AuditFilter } from "../../session/view/audit-entry.ts";
import {
  type AuditFileFormat,
  auditFile,
  isAuditFileFormat,
} from "../../session/view/audit-file.ts";
import type { SessionStore } from "../../store/store.ts";
import { homeOf } from "../home.ts";
import { readableTenant } from "./known-tenant.ts";
import { inStore } from "./stored-session.ts";

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
  data: { type: "string" },
  tenant: { type: "string", default: "local" },
  session: { type: "string" },
  user: { type: "string" },
  client: { type: "string" },
  act: { type: "string" },
  accepted: { type: "string" },
  from: { type: "string" },
  to: { type: "string" },
  format: { type: "string", default: "ndjson" },
  help: { type: "boolean", short: "h" },
} as const;

interface Wish {
  readonly folder: string;
  readonly tenantId: TenantId;
  readonly filter: AuditFilter;
  readonly format: AuditFileFormat;
}

/** Prints the audit of a tenant. */
export async function audit(args: readonly string[]): Promise<number> {
  const wish = readWish(args, process.env);
  if (!wish.ok) {
    console.error(`fermata: ${errorBody(wish.refusal).error}; see "fermata audit --help".`);
    return 2;
  }
  if (wish.value === "help") {
    process.stdout.write(AUDIT_USAGE);
    return 0;
  }
  const { folder, ...wanted } = wish.value;
  const done = await inStore(folder, (store) => print(store, wanted));
  if (done.ok) return 0;
  console.error(`fermata: ${errorBody(done.refusal).error}`);
  return 1;
}

/** Reads a command line; what makes no sense is refused with the sentence that says why. */
function readWish(args: readonly string[], env: NodeJS.ProcessEnv): Result<Wish | "help"> {
  try {
    const { values } = parseArgs({ args: [...args], options: OPTIONS });
    const { data, tenant, format, help, ...chosen } = values;
    if (help) return ok("help");
    const tenantId = parseTenantId(tenant);
    if (tenantId === null) return wrong("a tenant's name is of letters, digits and . _ : -");
    if (!isAuditFileFormat(format)) return wrong("--format is ndjson or csv");
    const fields = auditFilterFields.safeParse(chosen);
    if (!fields.success) {
      const { path, text } = firstProblem(fields.error);
      return wrong(`--${path.split(".")[0]}: ${text}`);
    }
    const folder = join(data ?? env.FERMATA_DATA ?? homeOf(env), "sessions");
    return ok({ folder, tenantId, filter: auditFilterOf(fields.data), format });
  } catch (thrown) {
    const [reason = ""] = (thrown instanceof Error ? thrown.message : String(thrown)).split(". ");
    return wrong(reason);
  }
}

/** No faster than it is read: a journal may be longer than memory. */
async function print(
  store: SessionStore,
  { tenantId, filter, format }: Omit<Wish, "folder">,
): Promise<Result<void>> {
  const known = await readableTenant(store, tenantId);
  if (!known.ok) return known;
  const pieces = await auditFile(store, tenantId, filter, format);
  if (!pieces.ok) return pieces;
  for await (const piece of pieces.value) {
    if (!process.stdout.write(piece)) await once(process.stdout, "drain");
  }
  return DONE;
}

function wrong(reason: string): Result<never> {
  return fail("invalid_request", { reason: `audit: ${reason}` });
}

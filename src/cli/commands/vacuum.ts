import { existsSync, readdirSync } from "node:fs";
import { parseArgs } from "node:util";
import { fail, ok, type Result } from "../../core/result.ts";
import { tenantsFolder } from "../../store/sqlite/database.ts";
import { type Vacuumed, vacuumTenants } from "../../store/sqlite/vacuum.ts";
import {
  type CommandOutput,
  DATA_OPTIONS,
  runCommand,
  storeFolder,
  wrong,
} from "./data-command.ts";

const USAGE = `Usage: fermata vacuum [--data DIR]

Gives the disk back what deleted sessions have left in the databases of all tenants,
and says how much that is. The server does so by itself after each deletion, except in
databases that an earlier version has made. Those are written anew, once: stop the
server for that, and have as much free space as the largest database takes.

Options:
  --data DIR     The server's data directory (~/.fermata, or FERMATA_DATA).
`;

/** Makes the databases of a data directory as small as their content. */
export function vacuum(args: readonly string[]): Promise<number> {
  const parse = (words: readonly string[]) =>
    parseArgs({ args: words, options: DATA_OPTIONS, allowPositionals: true });
  const read = (_: unknown, [extra]: readonly string[]) => {
    if (extra !== undefined) return wrong(`"${extra}" is too much`);
    return ok(vacuumAll);
  };
  return runCommand({ name: "vacuum", usage: USAGE, parse, read }, args);
}

async function vacuumAll(data: string): Promise<Result<CommandOutput>> {
  const root = storeFolder(data);
  const folder = tenantsFolder(root);
  if (!existsSync(folder)) return fail("store_unavailable", { reason: `there is no ${folder}` });
  const done = vacuumTenants(root, readdirSync(folder).toSorted());
  const lines = done.map(lineOf);
  const gained = done.reduce((sum, one) => sum + one.bytesBefore - one.bytesAfter, 0);
  const faults = done.flatMap(({ tenantId, fault }) =>
    fault === null ? [] : [`Tenant ${tenantId} was left as it is: ${fault}.`],
  );
  const shown = [...lines, `${gained} bytes given back.`].join("\n");
  return ok({ shown, notices: faults, exitCode: faults.length > 0 ? 1 : 0 });
}

function lineOf({ tenantId, bytesBefore, bytesAfter }: Vacuumed): string {
  return `${tenantId}: ${bytesBefore} -> ${bytesAfter} bytes`;
}

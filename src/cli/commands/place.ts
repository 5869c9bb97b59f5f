import { parseArgs } from "node:util";
import type { TenantId } from "../../core/id.ts";
import { ok, type Result } from "../../core/result.ts";
import { DATA_OPTIONS, type Outcome, runCommand, wrong } from "./command-frame.ts";
import { storeFolder } from "./data-store.ts";

/** A command that takes one directory, and is about the whole of a data directory. */
export interface PlaceCommand {
  readonly name: string;
  readonly usage: string;
  act(wish: PlaceWish): Promise<Result<Outcome>>;
}

export interface PlaceWish {
  /** The directory that was named. */
  readonly place: string;
  readonly data: string;
  /** Where the store is in the data directory. */
  readonly root: string;
}

/** Runs it and returns its exit code. */
export function runOnPlace(
  { name, usage, act }: PlaceCommand,
  args: readonly string[],
): Promise<number> {
  const mistake = `${name} takes one directory`;
  const read = (_: unknown, [place = "", unknown]: readonly string[]) => {
    if (place === "" || unknown !== undefined) return wrong(mistake);
    return ok((data: string) => act({ place, data, root: storeFolder(data) }));
  };
  return runCommand({ name, usage, mistake, parse, read }, args);
}

const parse = (args: readonly string[]) =>
  parseArgs({ args, options: DATA_OPTIONS, allowPositionals: true });

/** Shows how far it is, to whoever sits in front of it: large tenants take a while. */
export function showTenant(tenantId: TenantId, place: number, all: number) {
  if (process.stderr.isTTY)
    process.stderr.write(`fermata: tenant ${place} of ${all}, ${tenantId}\n`);
}

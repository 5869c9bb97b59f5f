import { join } from "node:path";
import { parseArgs } from "node:util";
import { errorBody } from "../../core/error.ts";
import type { TenantId } from "../../core/id.ts";
import type { Result } from "../../core/result.ts";
import { homeOf } from "../home.ts";

/** A command that takes one directory, and is about the whole of a data directory. */
export interface PlaceCommand {
  readonly name: string;
  readonly usage: string;
  act(wish: PlaceWish): Promise<Result<Outcome>>;
}

interface Outcome {
  /** What was done, as a sentence for the person. */
  readonly said: string;
  /** What there is to know beside it, each a sentence. */
  readonly notices: readonly string[];
  readonly exitCode: 0 | 1;
}

export interface PlaceWish {
  /** The directory that was named. */
  readonly place: string;
  readonly data: string;
  /** Where the store is in the data directory. */
  readonly root: string;
}

/** Runs it and returns its exit code. */
export async function runOnPlace(command: PlaceCommand, args: readonly string[]): Promise<number> {
  const wish = readWish(args);
  if (wish === "help") {
    process.stdout.write(command.usage);
    return 0;
  }
  if (wish === null) {
    const { name } = command;
    console.error(`fermata: ${name} takes one directory; see "fermata ${name} --help".`);
    return 2;
  }
  const done = await command.act(wish);
  if (!done.ok) {
    console.error(`fermata: ${errorBody(done.refusal).error}`);
    return 1;
  }
  const { said, notices, exitCode } = done.value;
  process.stdout.write(`${said}\n`);
  for (const notice of notices) console.error(`fermata: ${notice}`);
  return exitCode;
}

/** Shows how far it is, to whoever sits in front of it: large tenants take a while. */
export function showTenant(tenantId: TenantId, place: number, all: number) {
  if (process.stderr.isTTY)
    process.stderr.write(`fermata: tenant ${place} of ${all}, ${tenantId}\n`);
}

const OPTIONS = {
  data: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

/** Null is a command line that says nothing that we know. */
function readWish(args: readonly string[]): PlaceWish | "help" | null {
  try {
    const parsed = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
    if (parsed.values.help) return "help";
    const [place = "", unknown] = parsed.positionals;
    if (place === "" || unknown !== undefined) return null;
    const { env } = process;
    const data = parsed.values.data ?? env.FERMATA_DATA ?? homeOf(env);
    return { place, data, root: join(data, "sessions") };
  } catch {
    return null;
  }
}

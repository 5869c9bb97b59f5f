import { parseArgs } from "node:util";
import { ok, type Result } from "../../core/result.ts";
import { missingSessions } from "../../session/health/missing-sessions.ts";
import { SessionLocator } from "../../store/index.ts";
import { locatedFolder } from "../serve/store.ts";
import { type CommandOutput, DATA_OPTIONS, inStore, runCommand, wrong } from "./data-command.ts";

const USAGE = `Usage: fermata missing [--forget] [--data DIR]

Lists the sessions that were stored once and that the store does not have any more, as
after a lost or damaged database: one line each, with the tenant and the id. It works
beside a running server. The exit code is 1 if there are any.

To get them back, restore a backup. With --forget their notes are deleted, so that the
server's health does not speak of them any more.

Options:
  --forget       Delete the notes of these sessions.
  --data DIR     The server's data directory (~/.fermata, or FERMATA_DATA).
`;

const OPTIONS = { ...DATA_OPTIONS, forget: { type: "boolean" } } as const;

interface Flags {
  readonly data?: string;
  readonly help?: boolean;
  readonly forget?: boolean;
}

/** Lists the sessions that the store lacks. */
export function missing(args: readonly string[]): Promise<number> {
  const parse = (words: readonly string[]) =>
    parseArgs({ args: words, options: OPTIONS, allowPositionals: true });
  const read = (flags: Flags, [extra]: readonly string[]) => {
    const { forget = false } = flags;
    if (extra !== undefined) return wrong(`"${extra}" is too much`);
    return ok((data: string) => listMissing(data, forget));
  };
  return runCommand({ name: "missing", usage: USAGE, parse, read }, args);
}

function listMissing(data: string, isForgotten: boolean): Promise<Result<CommandOutput>> {
  const locator = new SessionLocator(locatedFolder(data));
  return inStore(data, async (store) => {
    const found = await missingSessions(store, locator);
    if (!found.ok) return found;
    for (const key of isForgotten ? found.value : []) {
      const forgotten = await locator.forget(key);
      if (!forgotten.ok) return forgotten;
    }
    const lines = found.value.map(({ tenantId, sessionId }) => `${tenantId} ${sessionId}`);
    if (lines.length === 0) return ok({ notices: ["No session is missing."] });
    const what = isForgotten ? "forgotten" : "missing; restore a backup, or use --forget";
    const notices = [`${lines.length} of the stored sessions: ${what}.`];
    return ok({ shown: lines.join("\n"), notices, exitCode: isForgotten ? 0 : 1 });
  });
}

import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { errorBody } from "../../core/error.ts";
import { parseSessionId, parseTenantId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { fail, type Result } from "../../core/result.ts";
import { type ChangeAct, changeEntry } from "../../session/audit/index.ts";
import { sqliteStore } from "../../store/sqlite/store.ts";
import type { JournalEntry, SessionKey, SessionStore, StoredRecord } from "../../store/store.ts";
import { homeOf } from "../home.ts";

/** Whoever has the data directory in their hands. */
export const OPERATOR = { kind: "operator" } as const;

/** A command that a person gives about one session, while its server may be at work or not. */
interface StoredSessionCommand {
  readonly name: string;
  readonly usage: string;
  /** Answers with the sentence that the person is told. */
  act(store: SessionStore, key: SessionKey): Promise<Result<string>>;
}

/** Runs it over the store of a data directory and returns its exit code. */
export async function runOnStored(
  command: StoredSessionCommand,
  args: readonly string[],
): Promise<number> {
  const wish = readWish(args);
  if (wish === "help") {
    process.stdout.write(command.usage);
    return 0;
  }
  if (wish === null) {
    const { name } = command;
    console.error(`fermata: ${name} takes the id of one session; see "fermata ${name} --help".`);
    return 2;
  }
  const done = await inStore(wish.folder, (store) => command.act(store, wish.key));
  if (!done.ok) {
    console.error(`fermata: ${errorBody(done.refusal).error}`);
    return 1;
  }
  process.stdout.write(`${done.value}\n`);
  return 0;
}

interface Wish {
  readonly key: SessionKey;
  readonly folder: string;
}

const OPTIONS = {
  data: { type: "string" },
  tenant: { type: "string", default: "local" },
  help: { type: "boolean", short: "h" },
} as const;

/** Null is a command line that says nothing that we know. */
function readWish(args: readonly string[]): Wish | "help" | null {
  try {
    const parsed = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
    const { data, tenant, help } = parsed.values;
    if (help) return "help";
    const [id = "", unknown] = parsed.positionals;
    const tenantId = parseTenantId(tenant);
    const sessionId = parseSessionId(id);
    if (tenantId === null || sessionId === null || unknown !== undefined) return null;
    const { env } = process;
    const folder = join(data ?? env.FERMATA_DATA ?? homeOf(env), "sessions");
    return { key: { tenantId, sessionId }, folder };
  } catch {
    return null;
  }
}

/** Nothing is made where nothing is: a mistyped directory must not look like an empty store. */
export async function inStore<Value>(
  path: string,
  act: (store: SessionStore) => Promise<Result<Value>>,
): Promise<Result<Value>> {
  if (!existsSync(path)) return fail("store_unavailable", { reason: `there is no ${path}` });
  const store = sqliteStore();
  const host = {
    persistenceSurface: { announce: () => {} },
    env: { get: () => undefined },
    audit: () => {},
  };
  try {
    const opened = await store.init(host, { active: true, path });
    if (!opened.ok) return opened;
    const active = await store.activate();
    return active.ok ? await act(store) : active;
  } finally {
    await store.dispose();
  }
}

/** What the audit is to know of something that a person did to a session from outside. */
export function operatorEntry(
  { sessionId, epoch, term }: StoredRecord,
  act: ChangeAct,
  details: JsonObject,
): JournalEntry {
  // No two things are done to a session under one term.
  const key = `${sessionId} ${epoch} ${act} ${term}`;
  return changeEntry({ act, by: OPERATOR, details, atMs: Date.now(), key, sessionId });
}

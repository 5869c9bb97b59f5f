import { parseArgs } from "node:util";
import { parseSessionId, parseTenantId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { ok, type Result } from "../../core/result.ts";
import { type ChangeAct, changeEntry } from "../../session/audit/index.ts";
import type { JournalEntry, SessionKey, SessionStore, StoredRecord } from "../../store/store.ts";
import { type DataAct, outcomeOf, runCommand, TENANT_OPTIONS, wrong } from "./command-frame.ts";
import { inStore } from "./data-store.ts";

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
export function runOnStored(
  { name, usage, act }: StoredSessionCommand,
  args: readonly string[],
): Promise<number> {
  const mistake = `${name} takes the id of one session`;
  const read = ({ tenant }: Given, [id = "", unknown]: readonly string[]): Result<DataAct> => {
    const tenantId = parseTenantId(tenant);
    const sessionId = parseSessionId(id);
    if (tenantId === null || sessionId === null || unknown !== undefined) return wrong(mistake);
    const key = { tenantId, sessionId };
    return ok(async (data) => outcomeOf(await inStore(data, (store) => act(store, key))));
  };
  return runCommand({ name, usage, mistake, parse, read }, args);
}

const parse = (args: readonly string[]) =>
  parseArgs({ args, options: TENANT_OPTIONS, allowPositionals: true });

type Given = ReturnType<typeof parse>["values"];

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

import type { ErrorCode } from "../../../core/error.ts";
import type { TenantId } from "../../../core/id.ts";
import type { Result } from "../../../core/result.ts";
import type { Holder } from "../../holder.ts";
import type * as S from "../../store.ts";

/** One call to a store, as a value: it can be made, told to another process, and played back. */
export type Step =
  | { readonly op: "create"; readonly key: S.SessionKey; readonly session: S.NewSession }
  | ({ readonly op: "open"; readonly key: S.SessionKey; readonly holder: Holder } & Audited)
  | ({ readonly op: "seize"; readonly key: S.SessionKey; readonly holder: Holder } & Audited)
  | ({ readonly op: "commit"; readonly key: S.SessionKey; readonly commit: S.Commit } & Termed)
  | ({ readonly op: "close"; readonly key: S.SessionKey } & Termed)
  | ({ readonly op: "cutLog"; readonly key: S.SessionKey; readonly cut: S.LogCut } & Termed)
  | ({ readonly op: "delete"; readonly key: S.SessionKey; readonly holder: Holder } & Audited)
  | { readonly op: "removeTenant"; readonly tenantId: TenantId; readonly holder: Holder }
  | { readonly op: "append"; readonly tenantId: TenantId; readonly entries: Entries }
  | { readonly op: "document"; readonly tenantId: TenantId; readonly write: S.DocumentWrite }
  | { readonly op: "blob"; readonly tenantId: TenantId; readonly bytes: Uint8Array };

type Entries = readonly S.JournalEntry[];
type Audited = { readonly audit: Entries };
type Termed = { readonly term: number };

export type SessionStep = Extract<Step, { readonly key: S.SessionKey }>;

export function perform(store: S.SessionStore, step: Step): Promise<Result<unknown>> {
  switch (step.op) {
    case "create":
      return store.create(step.key, step.session);
    case "open":
      return store.open(step.key, step.holder, step.audit);
    case "seize":
      return store.seize(step.key, step.holder, step.audit);
    case "commit":
      return store.commit(step.key, step.term, step.commit);
    case "close":
      return store.close(step.key, step.term);
    case "cutLog":
      return store.cutLog(step.key, step.term, step.cut);
    case "delete":
      return store.delete(step.key, step.holder, step.audit);
    case "removeTenant":
      return store.removeTenant(step.tenantId, step.holder);
    case "append":
      return store.appendJournal(step.tenantId, step.entries);
    case "document":
      return store.writeDocument(step.tenantId, step.write);
    case "blob":
      return store.writeBlob(step.tenantId, step.bytes);
  }
}

/** What the child process says, one line each. */
export type Line =
  /** Before it calls: `refused` is the code that it expects, if the call is a bad one. */
  | { readonly says: "calls"; readonly n: number; readonly step: Step; readonly refused: Refused }
  /** After the store has answered, and never before. */
  | { readonly says: "answered"; readonly n: number; readonly answer: Result<unknown> }
  | { readonly says: "has"; readonly fact: string }
  | { readonly says: "failed"; readonly why: string };

export type Refused = ErrorCode | null;

export function writeLine(line: Line): string {
  return `${JSON.stringify(line, (_, value: unknown) =>
    value instanceof Uint8Array ? { base64: Buffer.from(value).toString("base64") } : value,
  )}\n`;
}

export function readLine(text: string): Line {
  return JSON.parse(text, (_, value: unknown) => (isBytes(value) ? bytesOf(value) : value));
}

function isBytes(value: unknown): value is { readonly base64: string } {
  if (typeof value !== "object" || value === null || !("base64" in value)) return false;
  return typeof value.base64 === "string";
}

function bytesOf({ base64 }: { readonly base64: string }): Uint8Array {
  return Uint8Array.from(Buffer.from(base64, "base64"));
}

import { isObject } from "../core/json.ts";
import { DOCUMENT_BYTES_MAX } from "../core/limits.ts";
import { fail, ok, type Result } from "../core/result.ts";
import type { DocumentRow } from "./backend.ts";
import { checkEntries, invalid, weighed } from "./check.ts";
import { encodePlain } from "./plain.ts";
import type { Document, DocumentWrite, Page, StoreContract } from "./store.ts";

/** A document on its way in, with what it weighs together with what is told of it. */
export function checkWrite(
  { value, entries = [] }: DocumentWrite,
  contract: StoreContract,
): Result<number> {
  const told = checkEntries(entries, contract);
  const kept = told.ok ? checkValue(value) : told;
  return told.ok && kept.ok ? ok(told.value + kept.value) : kept;
}

/** Null deletes it and weighs nothing. */
function checkValue(value: DocumentWrite["value"]): Result<number> {
  if (value === null) return ok(0);
  if (!isObject(value)) return invalid("value", "a document is an object");
  const text = encodePlain(value);
  return text.ok ? weighed(Buffer.byteLength(text.value), DOCUMENT_BYTES_MAX) : text;
}

/** And on its way out: what a backend keeps is text. */
export function readDocuments({ rows, more }: Page<DocumentRow>): Result<Page<Document>> {
  const documents: Document[] = [];
  for (const { kind, key, version, text } of rows) {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return fail("session_corrupt", { reason: `document ${kind}/${key}` });
    documents.push({ kind, key, version, value });
  }
  return ok({ rows: documents, more });
}

import { isObject } from "../core/json.ts";
import { DOCUMENT_BYTES_MAX } from "../core/limits.ts";
import { fail, ok, type Result } from "../core/result.ts";
import type { DocumentRow } from "./backend.ts";
import { invalid, weighed } from "./check.ts";
import { encodePlain } from "./plain.ts";
import type { Document, DocumentWrite, Page } from "./store.ts";

/** A document's value on its way in, with what it weighs; null deletes it and weighs nothing. */
export function checkValue(value: DocumentWrite["value"]): Result<number> {
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

import { EXPORT_CHUNK_CHARS } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import type { Manifest, StoredRecord } from "../../store/store.ts";
import { htmlDocument } from "./html/document.ts";
import { jsonDocument } from "./json.ts";
import { jsonLines } from "./jsonl.ts";
import { markdown } from "./markdown.ts";
import type { ExportSource } from "./source.ts";

/** What is to be written, read so far that its writing can begin. */
export interface Exported {
  readonly source: ExportSource;
  readonly record: StoredRecord;
  readonly manifest: Manifest;
}

interface Format {
  readonly mediaType: string;
  readonly write: (exported: Exported) => AsyncIterable<string>;
}

/** The formats, by the ending of their files. */
export const EXPORT_FORMATS = {
  html: { mediaType: "text/html; charset=utf-8", write: htmlDocument },
  json: { mediaType: "application/json", write: jsonDocument },
  jsonl: { mediaType: "application/x-ndjson", write: jsonLines },
  md: { mediaType: "text/markdown; charset=utf-8", write: markdown },
} as const satisfies Readonly<Record<string, Format>>;

export type ExportFormat = keyof typeof EXPORT_FORMATS;

export function isExportFormat(text: string): text is ExportFormat {
  return Object.hasOwn(EXPORT_FORMATS, text);
}

/**
 * A session as a file, in pieces, of which never more than a page of the store is in memory. That
 * the session cannot be read is a refusal as long as nothing has been written; afterwards the
 * pieces end with an `ExportBroken`.
 */
export async function exportSession(
  source: ExportSource,
  format: ExportFormat,
): Promise<Result<AsyncIterable<string>>> {
  const record = await source.record();
  if (!record.ok) return record;
  const manifest = await source.manifest();
  if (!manifest.ok) return manifest;
  const exported = { source, record: record.value, manifest: manifest.value };
  return ok(gathered(EXPORT_FORMATS[format].write(exported)));
}

/** Small pieces put together, so that a turn of many words is not many writes. */
async function* gathered(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let chunk = "";
  for await (const piece of pieces) {
    chunk += piece;
    if (chunk.length < EXPORT_CHUNK_CHARS) continue;
    yield chunk;
    chunk = "";
  }
  if (chunk !== "") yield chunk;
}

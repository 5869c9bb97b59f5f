import { PAGE_BYTES_MAX, STORE_ROW_BYTES } from "../core/limits.ts";
import type { Page } from "./store.ts";

/**
 * The first rows of many, as copies: as many as the limits on rows and on bytes allow. Rows are
 * taken one by one, so what they come from may be an open statement, and is not read to its end.
 */
export function pageOf<Row extends object>(rows: Iterable<Row>, limit: number): Page<Row> {
  const page: Row[] = [];
  let bytes = 0;
  for (const row of rows) {
    bytes += STORE_ROW_BYTES;
    for (const value of Object.values(row)) {
      if (typeof value === "string") bytes += Buffer.byteLength(value);
    }
    const full = page.length === limit || (page.length > 0 && bytes > PAGE_BYTES_MAX);
    if (full) return { rows: page, more: true };
    page.push({ ...row });
  }
  return { rows: page, more: false };
}

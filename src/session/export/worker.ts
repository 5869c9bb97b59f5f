import { once } from "node:events";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { type Refusal, refusal } from "../../core/error.ts";
import type { Result } from "../../core/result.ts";
import type { BackwardRange, Manifest, Range, StoredRecord } from "../../store/store.ts";
import { type ExportFormat, writeExport } from "./export.ts";
import { ExportBroken, type ExportPages } from "./source.ts";

// The program of an export's thread. Server and thread take turns: the server asks for the next
// piece, and the thread answers with it, or first asks for pages of the store.

export interface ExportJob {
  readonly format: ExportFormat;
  readonly record: StoredRecord;
  readonly manifest: Manifest;
}

export type PageRequest =
  | { readonly kind: "read"; readonly of: "turns"; readonly range: BackwardRange }
  | { readonly kind: "read"; readonly of: "messages" | "events"; readonly range: Range };

export type ThreadMessage =
  | PageRequest
  | { readonly kind: "piece"; readonly text: string }
  | { readonly kind: "end" }
  | { readonly kind: "broken"; readonly refusal: Refusal };

if (parentPort !== null) await serve(parentPort, workerData);

async function serve(port: MessagePort, { format, record, manifest }: ExportJob): Promise<void> {
  const source = pagesFrom(port);
  await once(port, "message");
  try {
    for await (const text of writeExport({ source, record, manifest }, format)) {
      port.postMessage({ kind: "piece", text } satisfies ThreadMessage);
      await once(port, "message");
    }
    port.postMessage({ kind: "end" } satisfies ThreadMessage);
  } catch (thrown) {
    port.postMessage({ kind: "broken", refusal: reasonOf(thrown) } satisfies ThreadMessage);
  }
}

/** The server answers each request by its store, before anything else. */
function pagesFrom(port: MessagePort): ExportPages {
  async function asked<Found>(request: PageRequest): Promise<Result<Found>> {
    port.postMessage(request);
    const [answer]: Result<Found>[] = await once(port, "message");
    return answer ?? { ok: false, refusal: refusal("internal_error") };
  }
  return {
    messages: (range) => asked({ kind: "read", of: "messages", range }),
    turns: (range) => asked({ kind: "read", of: "turns", range }),
    events: (range) => asked({ kind: "read", of: "events", range }),
  };
}

function reasonOf(thrown: unknown): Refusal {
  if (thrown instanceof ExportBroken) return thrown.refusal;
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  return refusal("export_given_up", { reason });
}

import { once } from "node:events";
import { type Refusal, refusal } from "../../core/error.ts";
import type { Result } from "../../core/result.ts";
import type { BackwardRange, Manifest, Range, StoredRecord } from "../../store/store.ts";
import { type ExportFormat, writeExport } from "./export.ts";
import { ExportBroken, type ExportPages } from "./source.ts";

// The program of an export's process. Server and process take turns: the server asks for the next
// piece, and the process answers with it, or first asks for pages of the store. The first request
// is the job itself: messages that come together could be missed.

export interface ExportJob {
  readonly format: ExportFormat;
  readonly record: StoredRecord;
  readonly manifest: Manifest;
}

export type PageRequest =
  | { readonly kind: "read"; readonly of: "turns"; readonly range: BackwardRange }
  | { readonly kind: "read"; readonly of: "messages" | "events"; readonly range: Range };

export type WriterMessage =
  | PageRequest
  | { readonly kind: "piece"; readonly text: string }
  | { readonly kind: "end" }
  | { readonly kind: "broken"; readonly refusal: Refusal };

const PAGES: ExportPages = {
  messages: (range) => asked({ kind: "read", of: "messages", range }),
  turns: (range) => asked({ kind: "read", of: "turns", range }),
  events: (range) => asked({ kind: "read", of: "events", range }),
};

// Without its server there is no one to write for.
process.on("disconnect", () => process.exit());
// Not awaited: what it loads on demand waits until this module has ended.
if (process.send !== undefined) void serve();

async function serve(): Promise<void> {
  const [job]: ExportJob[] = await once(process, "message");
  if (job === undefined) return;
  try {
    for await (const text of writeExport({ ...job, source: PAGES }, job.format)) {
      send({ kind: "piece", text });
      await once(process, "message");
    }
    send({ kind: "end" });
  } catch (thrown) {
    send({ kind: "broken", refusal: reasonOf(thrown) });
  }
}

function send(message: WriterMessage) {
  process.send?.(message);
}

/** The server answers each request by its store, before anything else. */
async function asked<Found>(request: PageRequest): Promise<Result<Found>> {
  send(request);
  const [answer]: Result<Found>[] = await once(process, "message");
  return answer ?? { ok: false, refusal: refusal("internal_error") };
}

function reasonOf(thrown: unknown): Refusal {
  if (thrown instanceof ExportBroken) return thrown.refusal;
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  return refusal("export_given_up", { reason });
}

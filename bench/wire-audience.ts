import { type StreamOptions, StreamReader } from "./wire-client.ts";
import { ChildScript } from "./wire-process.ts";

type AudienceRequest =
  | {
      readonly act: "listen";
      readonly port: number;
      readonly paths: readonly string[];
      readonly options: StreamOptions;
    }
  | { readonly act: "wait"; readonly lastIds: readonly number[] };

interface AudienceReport {
  /** How many streams the server closed early. */
  readonly cut: number;
  readonly lagsMs: readonly number[];
}

/** Many readers in a process of their own, so that the writing server has a core to itself. */
export class Audience {
  readonly #readers = new ChildScript<AudienceRequest, AudienceReport>(new URL(import.meta.url));

  /** Opens a stream for each path. */
  async listen(port: number, paths: readonly string[], options: StreamOptions = {}): Promise<void> {
    await this.#request({ act: "listen", port, paths, options });
  }

  /** Waits until each stream has its event, and reports how late the events were. */
  wait(lastIds: readonly number[]): Promise<AudienceReport> {
    return this.#request({ act: "wait", lastIds });
  }

  leave(): Promise<void> {
    return this.#readers.end();
  }

  async #request(request: AudienceRequest): Promise<AudienceReport> {
    const report = await this.#readers.request(request);
    if (report.cut > 0) throw new Error(`${report.cut} streams were cut`);
    return report;
  }
}

/** Runs in the child: holds the readers, and answers each request with a report. */
function serveReaders() {
  let readers: readonly StreamReader[] = [];
  const serve = async (request: AudienceRequest) => {
    if (request.act === "listen") {
      const { port, paths, options } = request;
      readers = await Promise.all(paths.map((path) => StreamReader.open(port, path, options)));
    } else {
      // Closed streams are counted below; the bench does not wait for them.
      await Promise.allSettled(readers.map((reader, n) => reader.reached(request.lastIds[n] ?? 0)));
    }
    const cut = readers.filter(({ isOver }) => isOver).length;
    const report: AudienceReport = { cut, lagsMs: readers.flatMap(({ lagsMs }) => lagsMs) };
    for (const reader of readers) reader.lagsMs = [];
    process.send?.(report);
  };
  process.on("message", (request: AudienceRequest) => void serve(request));
  process.on("disconnect", () => process.exit());
}

if (import.meta.main) serveReaders();

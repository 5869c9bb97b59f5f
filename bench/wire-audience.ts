import { ToldProcess } from "./wire-told.ts";

/** What the process of an audience is told to do. */
export type AudienceRequest =
  | { readonly act: "listen"; readonly port: number; readonly paths: readonly string[] }
  | { readonly act: "wait"; readonly lastIds: readonly number[] };

export interface AudienceReport {
  /** How many streams were ended that should not have been. */
  readonly cut: number;
  readonly lagsMs: readonly number[];
}

/** Many readers in a process of their own, so that the writing server has a core to itself. */
export class Audience {
  readonly #readers = new ToldProcess<AudienceRequest, AudienceReport>(
    new URL("wire-audience-main.ts", import.meta.url),
  );

  /** A stream for each path. */
  async listen(port: number, paths: readonly string[]): Promise<void> {
    await this.#told({ act: "listen", port, paths });
  }

  /** Until each stream has come to its event, and how late what came was. */
  wait(lastIds: readonly number[]): Promise<AudienceReport> {
    return this.#told({ act: "wait", lastIds });
  }

  leave(): Promise<void> {
    return this.#readers.end();
  }

  async #told(request: AudienceRequest): Promise<AudienceReport> {
    const report = await this.#readers.told(request);
    if (report.cut > 0) throw new Error(`${report.cut} streams were cut`);
    return report;
  }
}

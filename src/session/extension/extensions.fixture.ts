import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { onTestFinished } from "vitest";
import { DONE, ok } from "../../core/result.ts";
import type { AbsentExtension, EnabledExtension } from "../../extension/catalog.ts";
import { manifestOf } from "../../extension/manifest.fixture.ts";
import { ExtensionThreads } from "../../extension/thread/threads.ts";
import type { SessionWorld } from "../world.ts";

/** Real extensions, as files of their own, which a test can take away and bring back. */
export class TestExtensions {
  enabled: readonly EnabledExtension[] = [];
  refused: readonly AbsentExtension[] = [];
  readonly threads = new ExtensionThreads();
  readonly #folder = mkdtempSync(join(tmpdir(), "fermata-extensions-"));

  constructor(...enabled: readonly EnabledExtension[]) {
    this.enabled = enabled;
    onTestFinished(() => rmSync(this.#folder, { recursive: true, force: true }));
  }

  get world(): NonNullable<SessionWorld["extensions"]> {
    const catalog = {
      of: async () => ({ enabled: this.enabled, refused: this.refused }),
      reread: async () => DONE,
    };
    return { catalog, threads: this.threads };
  }

  /** Its source is the body of what makes it, with `host` at hand. */
  add(id: string, body: string, change: Partial<EnabledExtension["manifest"]> = {}) {
    const file = join(this.#folder, `${randomUUID()}.js`);
    writeFileSync(file, `export default (host) => { const { slots } = host; ${body} };`);
    const added: EnabledExtension = {
      manifest: manifestOf(id, { stateSlot: ANY_SLOT, ...change }),
      isCritical: false,
      code: file,
      config: {},
      module: async () => ok(pathToFileURL(file).href),
    };
    this.enabled = [...this.enabled.filter(({ manifest }) => manifest.id !== id), added];
    return added;
  }

  remove(id: string) {
    this.enabled = this.enabled.filter(({ manifest }) => manifest.id !== id);
  }
}

const ANY_SLOT = { slotVersion: "1.0.0", schema: {}, driftPolicy: "reject" } as const;

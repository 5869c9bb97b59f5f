import { randomUUID } from "node:crypto";
import { open, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { EXTENSIONS_TRUSTED_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { fileFault } from "../../platform/file-fault.ts";
import { makeFolders } from "../../platform/folder.ts";

/** Code that an operator has looked at and trusts, by its content. */
export interface TrustedCode {
  readonly hash: string;
  /** Whose it was, and where it was found then: for people. */
  readonly extension: string;
  readonly folder: string;
  readonly atMs: number;
}

const SHAPE = z.strictObject({
  trusted: z
    .array(
      z.strictObject({
        hash: z.string().regex(/^[0-9a-f]{64}$/),
        extension: z.string().max(64),
        folder: z.string().max(4_096),
        atMs: z.number().int(),
      }),
    )
    .max(EXTENSIONS_TRUSTED_MAX),
});

/** Each of its entries with a long path fits, and no file that is something else. */
const FILE_BYTES_MAX = EXTENSIONS_TRUSTED_MAX * 8 * 1_024;

/**
 * The operator's list of trusted code, a file in the home of Fermata. It is not in a store: who may
 * write sessions, or own a tenant, may not say what runs inside the server.
 */
export class TrustList {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** The oldest first. A list that is damaged, or that others can write, is not believed. */
  async read(): Promise<Result<readonly TrustedCode[]>> {
    try {
      const text = await this.#text();
      if (text === null) return ok([]);
      const read = SHAPE.safeParse(JSON.parse(text));
      return read.success ? ok(read.data.trusted) : this.#wrong("it is not of its form");
    } catch (thrown) {
      if (thrown instanceof SyntaxError) return this.#wrong("it is not JSON");
      return this.#wrong(fileFault(thrown));
    }
  }

  /** From now on this code may be loaded; what its extension was trusted with before, too. */
  async add(code: TrustedCode): Promise<Result<void>> {
    return this.#change((all) => [...all.filter(({ hash }) => hash !== code.hash), code]);
  }

  /** No code of an extension may be loaded any more. */
  async remove(extension: string): Promise<Result<void>> {
    return this.#change((all) => all.filter((one) => one.extension !== extension));
  }

  async #change(
    changed: (all: readonly TrustedCode[]) => readonly TrustedCode[],
  ): Promise<Result<void>> {
    const before = await this.read();
    if (!before.ok) return before;
    const trusted = changed(before.value).slice(-EXTENSIONS_TRUSTED_MAX);
    const unfinished = `${this.#path}.${randomUUID()}`;
    try {
      await makeFolders(dirname(this.#path));
      const text = `${JSON.stringify({ trusted }, null, 2)}\n`;
      await writeFile(unfinished, text, { mode: 0o600, flag: "wx", flush: true });
      await rename(unfinished, this.#path);
      return ok(undefined);
    } catch (thrown) {
      await rm(unfinished, { force: true });
      return this.#wrong(fileFault(thrown));
    }
  }

  /** Null if there is none yet. */
  async #text(): Promise<string | null> {
    const handle = await open(this.#path).catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code === "ENOENT") return null;
      throw thrown;
    });
    if (handle === null) return null;
    try {
      const { mode, uid, size } = await handle.stat();
      const owners = new Set([process.getuid?.() ?? uid, 0]);
      if ((mode & 0o022) !== 0 || !owners.has(uid)) throw new Error("others can write it");
      if (size > FILE_BYTES_MAX) throw new Error("it is too large");
      return await handle.readFile("utf8");
    } finally {
      await handle.close();
    }
  }

  #wrong(reason: string): Result<never> {
    return fail("extension_trust_unreadable", { path: this.#path, reason });
  }
}

import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import type { TenantId } from "../core/id.ts";
import { PATH_CHARS_MAX, WORKSPACES_MAX } from "../core/limits.ts";
import { fail, ok, type Result } from "../core/result.ts";
import type { SessionStore } from "../store/store.ts";
import { canonical, type Workspace, type Workspaces } from "./workspaces.ts";

/** The kind of the documents in which tenants' workspaces are kept, each under its id. */
const KIND = "workspace";

/** The directories that the server was started with, for everybody, and those of each tenant. */
export class StoredWorkspaces implements Workspaces {
  readonly #store: SessionStore;
  readonly #own: readonly string[];

  private constructor(store: SessionStore, own: readonly string[]) {
    this.#store = store;
    this.#own = own;
  }

  /** With those of the server, as its settings spell them. */
  static async open(store: SessionStore, own: readonly string[]): Promise<StoredWorkspaces> {
    return new StoredWorkspaces(store, await Promise.all(own.map(canonical)));
  }

  async of(tenantId: TenantId): Promise<Result<readonly Workspace[]>> {
    const added = await this.#addedBy(tenantId);
    if (!added.ok) return added;
    const all = [...new Set([...this.#own, ...added.value])];
    return ok(all.map((cwd, index) => ({ id: idOf(cwd), cwd, isPrimary: index === 0 })));
  }

  async add(tenantId: TenantId, path: string): Promise<Result<Workspace>> {
    const known = await this.of(tenantId);
    if (!known.ok) return known;
    const cwd = await canonical(path);
    const found = known.value.find((one) => one.cwd === cwd);
    if (found !== undefined) return ok(found);
    const isDirectory = (await stat(cwd).catch(() => null))?.isDirectory() ?? false;
    if (!isDirectory) return fail("invalid_workspace", { cwd });
    const limit = WORKSPACES_MAX;
    if (known.value.length >= limit) return fail("workspace_limit_exceeded", { limit });
    const id = idOf(cwd);
    const document = { kind: KIND, key: id, expectedVersion: 0, value: { cwd } };
    const written = await this.#store.writeDocument(tenantId, document);
    // Somebody else has added the same one at the same time.
    if (!written.ok && written.refusal.code !== "document_conflict") return written;
    return ok({ id, cwd, isPrimary: false });
  }

  async #addedBy(tenantId: TenantId): Promise<Result<readonly string[]>> {
    const page = await this.#store.listDocuments(tenantId, KIND, null);
    if (!page.ok) return page;
    return ok(page.value.rows.flatMap(({ value: { cwd } }) => (isPath(cwd) ? [cwd] : [])));
  }
}

function isPath(value: unknown): value is string {
  return typeof value === "string" && isAbsolute(value) && value.length <= PATH_CHARS_MAX;
}

/** The same for the same directory, whoever asks, and nobody can read the path from it. */
function idOf(cwd: string): string {
  return `ws_${createHash("sha256").update(cwd).digest("hex").slice(0, 16)}`;
}

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

/** What a tenant has said of a directory. */
interface Said {
  readonly cwd: string;
  readonly isTrusted: boolean;
  readonly version: number;
}

/** The directories that the server was started with, for everybody, and those of each tenant. */
export class StoredWorkspaces implements Workspaces {
  readonly #store: SessionStore;
  readonly #own: readonly string[];
  readonly #areOwnTrusted: boolean;

  private constructor(store: SessionStore, own: readonly string[], areOwnTrusted: boolean) {
    this.#store = store;
    this.#own = own;
    this.#areOwnTrusted = areOwnTrusted;
  }

  /** With those of the server, as its settings spell them: whoever started it vouches for them. */
  static async open(
    store: SessionStore,
    own: readonly string[],
    areOwnTrusted = true,
  ): Promise<StoredWorkspaces> {
    const paths = await Promise.all(own.map(canonical));
    return new StoredWorkspaces(store, paths, areOwnTrusted);
  }

  async of(tenantId: TenantId): Promise<Result<readonly Workspace[]>> {
    const said = await this.#saidBy(tenantId);
    if (!said.ok) return said;
    const all = [...new Set([...this.#own, ...said.value.keys()])];
    return ok(all.map((cwd, index) => this.#workspace(cwd, index === 0, said.value.get(cwd))));
  }

  async add(
    tenantId: TenantId,
    path: string,
    isTrusted: boolean | null,
  ): Promise<Result<Workspace>> {
    const said = await this.#saidBy(tenantId);
    if (!said.ok) return said;
    const cwd = await canonical(path);
    const before = said.value.get(cwd);
    const isOwn = this.#own.includes(cwd);
    const isPrimary = this.#own[0] === cwd;
    if ((isOwn || before !== undefined) && isTrusted === null) {
      return ok(this.#workspace(cwd, isPrimary, before));
    }
    const isDirectory = (await stat(cwd).catch(() => null))?.isDirectory() ?? false;
    if (!isDirectory) return fail("invalid_workspace", { cwd });
    const limit = WORKSPACES_MAX;
    const count = new Set([...this.#own, ...said.value.keys(), cwd]).size;
    if (count > limit) return fail("workspace_limit_exceeded", { limit });
    const value = { cwd, trusted: isTrusted ?? true };
    const expectedVersion = before?.version ?? 0;
    const document = { kind: KIND, key: idOf(cwd), expectedVersion, value };
    const written = await this.#store.writeDocument(tenantId, document);
    if (written.ok) {
      const { version } = written.value;
      const now = { cwd, isTrusted: value.trusted, version };
      return ok(this.#workspace(cwd, isPrimary, now));
    }
    // Somebody else has said something of the same one at the same time: that stands.
    return written.refusal.code === "document_conflict" ? this.add(tenantId, cwd, null) : written;
  }

  /** Whether a directory's own files may speak to agents; one that nobody knows may not. */
  async isTrusted(tenantId: TenantId, cwd: string): Promise<Result<boolean>> {
    const known = await this.of(tenantId);
    return known.ok ? ok(known.value.some((one) => one.cwd === cwd && one.isTrusted)) : known;
  }

  #workspace(cwd: string, isPrimary: boolean, said: Said | undefined): Workspace {
    const isOwn = this.#own.includes(cwd);
    const isTrusted = said?.isTrusted ?? (isOwn && this.#areOwnTrusted);
    return { id: idOf(cwd), cwd, isPrimary, isTrusted };
  }

  async #saidBy(tenantId: TenantId): Promise<Result<ReadonlyMap<string, Said>>> {
    const page = await this.#store.listDocuments(tenantId, KIND, null);
    if (!page.ok) return page;
    const said = page.value.rows.flatMap(({ value: { cwd, trusted }, version }) => {
      // One that was added before there was trust was added by who could have given it.
      return isPath(cwd) ? [{ cwd, isTrusted: trusted !== false, version }] : [];
    });
    return ok(new Map(said.map((one) => [one.cwd, one])));
  }
}

function isPath(value: unknown): value is string {
  return typeof value === "string" && isAbsolute(value) && value.length <= PATH_CHARS_MAX;
}

/** The same for the same directory, whoever asks, and nobody can read the path from it. */
function idOf(cwd: string): string {
  return `ws_${createHash("sha256").update(cwd).digest("hex").slice(0, 16)}`;
}

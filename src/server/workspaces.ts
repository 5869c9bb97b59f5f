import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import { isBelow } from "../agent/workspace/location.ts";
import type { TenantId } from "../core/id.ts";
import { PATH_CHARS_MAX, WORKSPACES_MAX } from "../core/limits.ts";
import { DONE, fail, ok, type Result } from "../core/result.ts";
import { canonical } from "../platform/folder.ts";
import { changeEntry, details, type Steward } from "../session/index.ts";
import {
  type LockedChange,
  type TenantStore,
  withTenantMutex,
} from "./identity/tenant-document.ts";

/** A directory in which a tenant may have sessions. */
export interface Workspace {
  /** Opaque and stable; clients may refer to it. */
  readonly id: string;
  /** The canonical path. */
  readonly cwd: string;
  readonly isPrimary: boolean;
  /** Whether agents may read the directory's own skills and persona files. */
  readonly isTrusted: boolean;
}

/** A request to add a workspace, or to change its trust. */
export interface WorkspaceChange {
  readonly cwd: string;
  /** Null keeps the present value; a new workspace is trusted then. */
  readonly isTrusted: boolean | null;
  readonly by: Steward;
  readonly atMs: number;
}

/** Like `workspaceOf`, but a workspace other than the primary one must be trusted. */
export async function trustedWorkspaceOf(
  workspaces: Workspaces,
  tenantId: TenantId,
  wanted: string | null,
): Promise<Result<Workspace>> {
  const found = await workspaceOf(workspaces, tenantId, wanted);
  if (!found.ok || found.value.isPrimary || found.value.isTrusted) return found;
  return fail("untrusted_workspace", { workspaceCwd: found.value.cwd });
}

/** Finds a workspace by path or id; null is the primary one. */
export async function workspaceOf(
  workspaces: Workspaces,
  tenantId: TenantId,
  wanted: string | null,
): Promise<Result<Workspace>> {
  const known = await workspaces.of(tenantId);
  if (!known.ok) return known;
  const [primary] = known.value;
  const cwd = wanted !== null && isAbsolute(wanted) ? await canonical(wanted) : null;
  const found =
    wanted === null ? primary : known.value.find((one) => one.id === wanted || one.cwd === cwd);
  if (found !== undefined) return ok(found);
  if (wanted !== null && cwd === null) {
    return fail("invalid_request", { reason: "A workspace is an absolute path, or an id." });
  }
  // Names the path as requested: the target of a link is not revealed.
  const requestedWorkspace = resolve(wanted ?? "/");
  const workspaceCount = known.value.length;
  const several = workspaceCount > 1 ? { workspaceCount } : {};
  const boundWorkspace = primary?.cwd ?? "";
  return fail("workspace_mismatch", { boundWorkspace, requestedWorkspace, ...several });
}

/** The kind of the documents that hold tenants' workspaces, by id. */
const KIND = "workspace";

/** A tenant's stored choice about a directory. */
interface StoredChoice {
  readonly cwd: string;
  readonly isTrusted: boolean;
}

/** Rules for workspaces of this server. */
export interface WorkspaceRules {
  /** Whether the server's own workspaces are trusted by default. */
  readonly areOwnTrusted?: boolean;
  /** Tenants may add only directories below these; without any, all. */
  readonly roots?: readonly string[];
  /** Whether a second tenant makes roots necessary: callers are told apart by tokens. */
  readonly hasTokens?: boolean;
  /** Directories with the server's own data, which no tenant may add (P8). */
  readonly closed?: { isTouchedBy(real: string): boolean };
  /** Refuses a directory in which this agent's user cannot work; null stands for any agent. */
  readonly access?: (cwd: string, agent: string | null) => Promise<Result<void>>;
}

/** The server's own workspaces, for all tenants, and those of each tenant. */
export class Workspaces {
  readonly #store: TenantStore;
  readonly #own: readonly string[];
  readonly #rules: Required<WorkspaceRules>;

  private constructor(store: TenantStore, own: readonly string[], rules: Required<WorkspaceRules>) {
    this.#store = store;
    this.#own = own;
    this.#rules = rules;
  }

  /** Opens with the workspaces of the settings: the operator vouches for them. */
  static async open(
    store: TenantStore,
    own: readonly string[],
    rules: WorkspaceRules = {},
  ): Promise<Workspaces> {
    const { areOwnTrusted = true, closed = NOTHING_CLOSED, access = everywhere } = rules;
    const { hasTokens = false } = rules;
    const [paths, roots] = await Promise.all([
      Promise.all(own.map(canonical)),
      Promise.all((rules.roots ?? []).map(canonical)),
    ]);
    return new Workspaces(store, paths, { areOwnTrusted, closed, access, roots, hasTokens });
  }

  /** Refuses a directory in which this agent's user cannot work. */
  checkAccess(cwd: string, agent: string): Promise<Result<void>> {
    return this.#rules.access(cwd, agent);
  }

  /** The first is the default. */
  async of(tenantId: TenantId): Promise<Result<readonly Workspace[]>> {
    const stored = await this.#storedBy(tenantId);
    if (!stored.ok) return stored;
    const all = [...new Set([...this.#own, ...stored.value.keys()])];
    return ok(all.map((cwd, index) => this.#workspace(cwd, index === 0, stored.value.get(cwd))));
  }

  /** Adds a workspace or changes its trust, together with an audit entry. */
  async add(tenantId: TenantId, requested: WorkspaceChange): Promise<Result<Workspace>> {
    const cwd = await canonical(requested.cwd);
    // The refusal names the path as requested: the target of a link is not revealed.
    const unfit = (reason: string) => fail("invalid_workspace", { cwd: requested.cwd, reason });
    const fault = this.#faultOf(cwd);
    if (fault !== null) return unfit(fault);
    const rooted = await this.#requireRoots(tenantId);
    if (!rooted.ok) return rooted;
    // A slow disk delays only this request, not the tenant's other changes.
    const isDirectory = (await stat(cwd).catch(() => null))?.isDirectory() ?? false;
    const there = isDirectory
      ? await this.#reached(requested.cwd, cwd)
      : unfit("there is no such directory on this server");
    return withTenantMutex(this.#store, tenantId, (change) => {
      return this.#add(tenantId, { ...requested, cwd }, there, change);
    });
  }

  /** The server may have got its second tenant since it started, by a command or a JWT. */
  async #requireRoots(tenantId: TenantId): Promise<Result<void>> {
    const { roots, hasTokens } = this.#rules;
    if (!hasTokens || roots.length > 0) return DONE;
    const all = await this.#store.tenants();
    if (!all.ok) return all;
    return all.value.some((other) => other !== tenantId) ? fail("second_tenant") : DONE;
  }

  /** Of a link that leads elsewhere the refusal tells no more than that it cannot be used. */
  async #reached(requested: string, cwd: string): Promise<Result<void>> {
    const access = await this.#rules.access(cwd, null);
    if (access.ok || resolve(requested) === cwd) return access;
    const reason = "the agents' user cannot work there";
    return fail("invalid_workspace", { cwd: requested, reason });
  }

  async #add(
    tenantId: TenantId,
    requested: WorkspaceChange,
    there: Result<void>,
    change: LockedChange,
  ): Promise<Result<Workspace>> {
    const stored = await this.#storedBy(tenantId);
    if (!stored.ok) return stored;
    const { cwd } = requested;
    const before = stored.value.get(cwd);
    const isKnown = before !== undefined || this.#own.includes(cwd);
    const isPrimary = this.#own[0] === cwd;
    const isNews = requested.isTrusted !== null && requested.isTrusted !== before?.isTrusted;
    if (isKnown && !isNews) return ok(this.#workspace(cwd, isPrimary, before));
    if (!there.ok) return there;
    const limit = WORKSPACES_MAX;
    const count = new Set([...this.#own, ...stored.value.keys(), cwd]).size;
    if (count > limit) return fail("workspace_limit_exceeded", { limit });
    const written = await this.#write(requested, change);
    return written.ok ? ok(this.#workspace(cwd, isPrimary, written.value)) : written;
  }

  /** Of two concurrent changes the later one counts, and is audited as a change. */
  #write(
    { cwd, isTrusted, by, atMs }: WorkspaceChange,
    change: LockedChange,
  ): Promise<Result<StoredChoice>> {
    const key = idOf(cwd);
    return change({ kind: KIND, key }, (before) => {
      const isStored = before?.cwd === cwd;
      const wasTrusted = before?.trusted !== false;
      const trusted = isTrusted ?? wasTrusted;
      const act = isStored || this.#own.includes(cwd) ? "workspace_trust_set" : "workspace_added";
      const entryDetails = details({ workspaceId: key, cwd, trusted });
      const isNews = !isStored || trusted !== wasTrusted;
      const entry = isNews ? changeEntry({ act, by, details: entryDetails, atMs }) : null;
      return ok({ value: { cwd, trusted }, entry, outcome: { cwd, isTrusted: trusted } });
    });
  }

  /** Whether agents may read the directory's own files. In an unknown directory they may not. */
  async isTrusted(tenantId: TenantId, cwd: string): Promise<Result<boolean>> {
    const stored = await this.#storedBy(tenantId);
    return stored.ok ? ok(this.#trusts(cwd, stored.value.get(cwd))) : stored;
  }

  /** Why tenants may not add this directory; null if they may. Does not look at the disk. */
  #faultOf(cwd: string): string | null {
    if (this.#own.includes(cwd)) return null;
    const { closed, roots } = this.#rules;
    if (closed.isTouchedBy(cwd)) return "the server keeps files of its own there";
    if (roots.length === 0 || roots.some((root) => isBelow(root, cwd))) return null;
    return "it is in none of the directories that the operator has opened for workspaces";
  }

  #workspace(cwd: string, isPrimary: boolean, stored: StoredChoice | undefined): Workspace {
    return { id: idOf(cwd), cwd, isPrimary, isTrusted: this.#trusts(cwd, stored) };
  }

  #trusts(cwd: string, stored: StoredChoice | undefined): boolean {
    return stored?.isTrusted ?? (this.#rules.areOwnTrusted && this.#own.includes(cwd));
  }

  async #storedBy(tenantId: TenantId): Promise<Result<ReadonlyMap<string, StoredChoice>>> {
    const page = await this.#store.listDocuments(tenantId, KIND, null);
    if (!page.ok) return page;
    const stored = page.value.rows.flatMap(({ value: { cwd, trusted } }) => {
      // A workspace from before there was trust was added by a caller who could have trusted it.
      // One that may not be added today no longer counts.
      return isPath(cwd) && this.#faultOf(cwd) === null
        ? [{ cwd, isTrusted: trusted !== false }]
        : [];
    });
    return ok(new Map(stored.map((one) => [one.cwd, one])));
  }
}

async function everywhere(): Promise<Result<void>> {
  return DONE;
}

const NOTHING_CLOSED = { isTouchedBy: () => false };

function isPath(value: unknown): value is string {
  return typeof value === "string" && isAbsolute(value) && value.length <= PATH_CHARS_MAX;
}

/** The same id for the same directory. The path cannot be derived from it. */
function idOf(cwd: string): string {
  return `ws_${createHash("sha256").update(cwd).digest("hex").slice(0, 16)}`;
}

import { createHash } from "node:crypto";
import { realpath, stat } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import { isBelow } from "../agent/workspace/location.ts";
import type { TenantId } from "../core/id.ts";
import { PATH_CHARS_MAX, WORKSPACES_MAX } from "../core/limits.ts";
import { DONE, fail, ok, type Result } from "../core/result.ts";
import { details } from "../session/audit/audited.ts";
import { changeEntry, type Steward } from "../session/audit/entries.ts";
import type { SessionStore } from "../store/store.ts";
import { type ChangeInTurn, inTurn } from "./identity/tenant-document.ts";

/** A directory that sessions of a tenant may be made in. */
export interface Workspace {
  /** Opaque and stable: clients may name it by this. */
  readonly id: string;
  /** The real path, however it was spelled. */
  readonly cwd: string;
  readonly isPrimary: boolean;
  /** Whether its own skills and persona files may speak to agents. */
  readonly isTrusted: boolean;
}

/** What somebody wants to be so of a directory. */
export interface WorkspaceChange {
  readonly cwd: string;
  /** Null leaves that as it is; a new one is trusted then. */
  readonly isTrusted: boolean | null;
  readonly by: Steward;
  readonly atMs: number;
}

/** The directories that the server was started with, and those that a tenant has added. */
export interface Workspaces {
  /** The first is meant where none is named. */
  of(tenantId: TenantId): Promise<Result<readonly Workspace[]>>;
  /** Adds one, or changes whether one that is there is trusted, and not without an audit. */
  add(tenantId: TenantId, wish: WorkspaceChange): Promise<Result<Workspace>>;
}

/** A path as the system has it; one that is not there is at least without its detours. */
export async function canonical(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path));
}

/** The same, for whoever wants to work there: beside the first, it has to be trusted (3.5). */
export async function trustedWorkspaceOf(
  workspaces: Workspaces,
  tenantId: TenantId,
  wanted: string | null,
): Promise<Result<Workspace>> {
  const found = await workspaceOf(workspaces, tenantId, wanted);
  if (!found.ok || found.value.isPrimary || found.value.isTrusted) return found;
  return fail("untrusted_workspace", { workspaceCwd: found.value.cwd });
}

/** The one that is meant by a path, an id, or nothing at all. */
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
  // As it was asked for: where a link leads to is nobody's business who may not go there.
  const requestedWorkspace = resolve(wanted ?? "/");
  const workspaceCount = known.value.length;
  const several = workspaceCount > 1 ? { workspaceCount } : {};
  const boundWorkspace = primary?.cwd ?? "";
  return fail("workspace_mismatch", { boundWorkspace, requestedWorkspace, ...several });
}

/** The kind of the documents in which tenants' workspaces are kept, each under its id. */
const KIND = "workspace";

/** What a tenant has said of a directory. */
interface Said {
  readonly cwd: string;
  readonly isTrusted: boolean;
}

/** What holds for the directories of this server. */
export interface WorkspaceRules {
  /** Whether those that it was started with are trusted where nobody has said anything. */
  readonly areOwnTrusted?: boolean;
  /** Tenants add only what is below one of these; without any, whatever is there. */
  readonly roots?: readonly string[];
  /** Where the server keeps what is everybody's: nobody adds that (P8). */
  readonly closed?: { isTouchedBy(real: string): boolean };
}

/** The directories that the server was started with, for everybody, and those of each tenant. */
export class StoredWorkspaces implements Workspaces {
  readonly #store: SessionStore;
  readonly #own: readonly string[];
  readonly #rules: Required<WorkspaceRules>;

  private constructor(
    store: SessionStore,
    own: readonly string[],
    rules: Required<WorkspaceRules>,
  ) {
    this.#store = store;
    this.#own = own;
    this.#rules = rules;
  }

  /** With those of the server, as its settings spell them: whoever started it vouches for them. */
  static async open(
    store: SessionStore,
    own: readonly string[],
    { areOwnTrusted = true, roots = [], closed = NOTHING_CLOSED }: WorkspaceRules = {},
  ): Promise<StoredWorkspaces> {
    const paths = await Promise.all(own.map(canonical));
    const rules = { areOwnTrusted, closed, roots: await Promise.all(roots.map(canonical)) };
    return new StoredWorkspaces(store, paths, rules);
  }

  async of(tenantId: TenantId): Promise<Result<readonly Workspace[]>> {
    const said = await this.#saidBy(tenantId);
    if (!said.ok) return said;
    const all = [...new Set([...this.#own, ...said.value.keys()])];
    return ok(all.map((cwd, index) => this.#workspace(cwd, index === 0, said.value.get(cwd))));
  }

  async add(tenantId: TenantId, wish: WorkspaceChange): Promise<Result<Workspace>> {
    const cwd = await canonical(wish.cwd);
    // Said of the path as it was asked for: where a link leads to is not told.
    const unfit = (reason: string) => fail("invalid_workspace", { cwd: wish.cwd, reason });
    const fault = this.#faultOf(cwd);
    if (fault !== null) return unfit(fault);
    // A slow disk holds up whoever asks for what is on it, and not the others of the tenant.
    const isDirectory = (await stat(cwd).catch(() => null))?.isDirectory() ?? false;
    const there = isDirectory ? DONE : unfit("there is no such directory on this server");
    return inTurn(this.#store, tenantId, (change) => {
      return this.#add(tenantId, { ...wish, cwd }, there, change);
    });
  }

  async #add(
    tenantId: TenantId,
    wish: WorkspaceChange,
    there: Result<void>,
    change: ChangeInTurn,
  ): Promise<Result<Workspace>> {
    const said = await this.#saidBy(tenantId);
    if (!said.ok) return said;
    const { cwd } = wish;
    const before = said.value.get(cwd);
    const isKnown = before !== undefined || this.#own.includes(cwd);
    const isPrimary = this.#own[0] === cwd;
    const isNews = wish.isTrusted !== null && wish.isTrusted !== before?.isTrusted;
    if (isKnown && !isNews) return ok(this.#workspace(cwd, isPrimary, before));
    if (!there.ok) return there;
    const limit = WORKSPACES_MAX;
    const count = new Set([...this.#own, ...said.value.keys(), cwd]).size;
    if (count > limit) return fail("workspace_limit_exceeded", { limit });
    const written = await this.#say(wish, change);
    return written.ok ? ok(this.#workspace(cwd, isPrimary, written.value)) : written;
  }

  /** Of what two say of the same one at the same time the later stands, and is told as news. */
  #say({ cwd, isTrusted, by, atMs }: WorkspaceChange, change: ChangeInTurn): Promise<Result<Said>> {
    const key = idOf(cwd);
    return change({ kind: KIND, key }, (before) => {
      const isSaid = before?.cwd === cwd;
      const wasTrusted = before?.trusted !== false;
      const trusted = isTrusted ?? wasTrusted;
      const act = isSaid || this.#own.includes(cwd) ? "workspace_trust_set" : "workspace_added";
      const told = details({ workspaceId: key, cwd, trusted });
      const isNews = !isSaid || trusted !== wasTrusted;
      const entry = isNews ? changeEntry({ act, by, details: told, atMs }) : null;
      return ok({ value: { cwd, trusted }, entry, outcome: { cwd, isTrusted: trusted } });
    });
  }

  /** Whether a directory's own files may speak to agents; one that nobody knows may not. */
  async isTrusted(tenantId: TenantId, cwd: string): Promise<Result<boolean>> {
    const known = await this.of(tenantId);
    return known.ok ? ok(known.value.some((one) => one.cwd === cwd && one.isTrusted)) : known;
  }

  /** Why tenants may not have this one; null if they may. What is there is not looked at. */
  #faultOf(cwd: string): string | null {
    if (this.#own.includes(cwd)) return null;
    const { closed, roots } = this.#rules;
    if (closed.isTouchedBy(cwd)) return "the server keeps files of its own there";
    if (roots.length === 0 || roots.some((root) => isBelow(root, cwd))) return null;
    return "it is in none of the directories that the operator has opened for workspaces";
  }

  #workspace(cwd: string, isPrimary: boolean, said: Said | undefined): Workspace {
    const isOwn = this.#own.includes(cwd);
    const isTrusted = said?.isTrusted ?? (isOwn && this.#rules.areOwnTrusted);
    return { id: idOf(cwd), cwd, isPrimary, isTrusted };
  }

  async #saidBy(tenantId: TenantId): Promise<Result<ReadonlyMap<string, Said>>> {
    const page = await this.#store.listDocuments(tenantId, KIND, null);
    if (!page.ok) return page;
    const said = page.value.rows.flatMap(({ value: { cwd, trusted } }) => {
      // One that was added before there was trust was added by who could have given it.
      // And one that may not be added today does not count any more.
      return isPath(cwd) && this.#faultOf(cwd) === null
        ? [{ cwd, isTrusted: trusted !== false }]
        : [];
    });
    return ok(new Map(said.map((one) => [one.cwd, one])));
  }
}

const NOTHING_CLOSED = { isTouchedBy: () => false };

function isPath(value: unknown): value is string {
  return typeof value === "string" && isAbsolute(value) && value.length <= PATH_CHARS_MAX;
}

/** The same for the same directory, whoever asks, and nobody can read the path from it. */
function idOf(cwd: string): string {
  return `ws_${createHash("sha256").update(cwd).digest("hex").slice(0, 16)}`;
}

import { realpath } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import type { TenantId } from "../core/id.ts";
import { fail, ok, type Result } from "../core/result.ts";
import type { Steward } from "../session/audit/entries.ts";

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
export interface WorkspaceWish {
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
  add(tenantId: TenantId, wish: WorkspaceWish): Promise<Result<Workspace>>;
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

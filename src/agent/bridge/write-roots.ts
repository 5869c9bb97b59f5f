import { isAbsolute, join } from "node:path";
import type { JsonObject } from "../../core/json.ts";
import type { Access } from "../../core/policy/access.ts";
import { absolutePath, approvalKeys, writtenPath } from "../../core/policy/approval-key.ts";
import { ok, type Result } from "../../core/result.ts";
import type { AgentAsk } from "../agent.ts";
import type { FileAudit, FileRequest } from "../workspace/files.ts";
import type { BridgeSession } from "./session.ts";

/** A file that the server may use for an agent. */
interface ReachedFile extends FileRequest {
  /** Its real path, which people are asked about. */
  readonly real: string;
}

/**
 * Finds a file in the session's workspace, or else in one of the folders that the operator has
 * opened to all agents. Each of them bounds its files as a workspace does: by real paths.
 */
async function reach(
  { files, own, request, host }: BridgeSession,
  path: string,
  to: "read" | "write",
): Promise<Result<ReachedFile>> {
  const inside = { workspace: request.workspace, path, own };
  const found = await files.realPathOf(inside, to);
  if (found.ok) return ok({ ...inside, real: found.value });
  if (found.refusal.code !== "path_outside_workspace" || !isAbsolute(path)) return found;
  for (const workspace of host.roots) {
    const real = await files.realPathOf({ workspace, path, own }, to);
    if (real.ok) return ok({ workspace, path, own, real: real.value });
    if (real.refusal.code !== "path_outside_workspace") return real;
  }
  return found;
}

/** The file that a request is about, and where it was found when that was permitted. */
export function requestedFile(session: BridgeSession, path: string, action: "read" | "write") {
  let reached: FileRequest = { workspace: session.request.workspace, path, own: session.own };
  const access = async (): Promise<Result<Access>> => {
    const found = await reach(session, path, action);
    if (!found.ok) return found;
    const { real, ...file } = found.value;
    reached = file;
    return ok({ action, path: real });
  };
  const { workspace } = session.request;
  // A path in another folder would read like one of the workspace.
  const audit: FileAudit = (act, { path: name, ...details }) => {
    const isOwn = reached.workspace === workspace || typeof name !== "string";
    return session.audit(act, { path: isOwn ? name : join(reached.workspace, name), ...details });
  };
  return { path, access, audit, reached: () => reached };
}

/**
 * The ask with the place that its call wants to write and the server would not: people are not
 * asked for what cannot be done. An agent that writes by itself may write anywhere, once allowed.
 * Undefined if there is nothing to find out.
 */
export function withOutside(session: BridgeSession, ask: AgentAsk): Promise<AgentAsk> | undefined {
  if (ask.kind !== "permission" || !session.host.writesByServer) return undefined;
  const paths = writtenBy({ ...ask.known, ...ask.toolCall }, session.request.cwd);
  return paths.length === 0 ? undefined : judged(session, ask, paths);
}

async function judged(
  session: BridgeSession,
  ask: AgentAsk,
  paths: readonly string[],
): Promise<AgentAsk> {
  for (const path of paths) {
    const reached = await reach(session, path, "write");
    if (!reached.ok && reached.refusal.code === "path_outside_workspace") {
      return { ...ask, outside: path };
    }
  }
  return ask;
}

function writtenBy(call: JsonObject, cwd: string): readonly string[] {
  const paths = approvalKeys(call, cwd).map(writtenPath);
  return paths.flatMap((path) => (path === null ? [] : absolutePath(path, cwd)));
}

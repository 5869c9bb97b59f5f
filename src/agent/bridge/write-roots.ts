import { isAbsolute } from "node:path";
import type { JsonObject } from "../../core/json.ts";
import type { Access } from "../../core/policy/access.ts";
import { absolutePath, approvalKeys, writtenPath } from "../../core/policy/approval-key.ts";
import { ok, type Result } from "../../core/result.ts";
import type { AgentAsk } from "../agent.ts";
import type { FileRequest } from "../workspace/files.ts";
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
  { files, own, request, roots }: BridgeSession,
  path: string,
  to: "read" | "write",
): Promise<Result<ReachedFile>> {
  const inside = { workspace: request.workspace, path, own };
  const found = await files.realPathOf(inside, to);
  if (found.ok) return ok({ ...inside, real: found.value });
  if (found.refusal.code !== "path_outside_workspace" || !isAbsolute(path)) return found;
  for (const workspace of roots) {
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
  return { path, access, reached: () => reached };
}

/**
 * The ask with the place that its call wants to write and the server would not: people are not
 * asked for what cannot be done. An agent that writes by itself may write anywhere, once allowed.
 */
export async function withOutside(session: BridgeSession, ask: AgentAsk): Promise<AgentAsk> {
  if (ask.kind !== "permission" || !session.writesByServer) return ask;
  const { cwd } = session.request;
  for (const path of writtenBy({ ...ask.known, ...ask.toolCall }, cwd)) {
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

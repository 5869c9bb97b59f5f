import { resolve } from "node:path";
import { type JsonObject, stringAt, withoutNulls } from "../../core/json.ts";
import { accessCall } from "../../core/policy/access.ts";
import { namedPaths } from "../../core/policy/approval-key.ts";
import type { GuardOpinion } from "../../core/policy/gate.ts";
import type { Command } from "../../core/session/command.ts";
import { decide } from "../../core/session/decide.ts";
import type { Session } from "../../core/session/state.ts";
import type { ToolCallFacts } from "../../extension/hook.ts";
import type { SessionExtensions } from "../../extension/session-extensions.ts";

/** Something that an agent wants to do by way of the server. */
export type WantedCall = Command<"ask"> | Command<"access">;

/**
 * What the extensions want of a call that the agent wants to make; null if all let it pass. They
 * are asked about what the gates let through or put to people, and nothing else: no guard can
 * allow what is refused, and what people have allowed in this turn was judged by then. Nothing is
 * decided by this: the command has the opinion.
 */
export async function judgedCall(
  extensions: SessionExtensions,
  session: Session,
  command: WantedCall,
): Promise<GuardOpinion | null> {
  const fate = fateOf(session, command);
  // A question is not about permission, and no guard can answer it.
  if (fate === "settled" || (command.type === "ask" && command.kind !== "permission")) return null;
  const facts = wantedFacts(command, session.chosen.currentCwd);
  const opinion = await extensions.ask("before_tool_call", facts);
  const isAsked = fate === "asked" || opinion?.verdict === "ask";
  if (opinion?.verdict === "deny" || !isAsked) return opinion;
  const asked = await extensions.ask("before_ask", facts);
  return asked?.verdict === "deny" ? asked : (opinion ?? asked);
}

/** What the session would come to by itself; settled is what is refused, or was allowed before. */
function fateOf(session: Session, command: WantedCall): "settled" | "allowed" | "asked" {
  const decision = decide(session, command);
  if (decision.kind === "refused") return "settled";
  for (const event of decision.events) {
    if (event.type === "permission_request") return "asked";
    if (event.type === "permission_decided" && event.data.allowed) return "allowed";
    const isNew = event.type === "agent_access" && event.data.answeredBy === undefined;
    if (isNew && event.data.allowed) return "allowed";
  }
  return "settled";
}

/** What extensions learn of it: of an ask, with what the agent reported of its call before. */
function wantedFacts(command: WantedCall, cwd: string): ToolCallFacts {
  const { requestId } = command;
  if (command.type === "access") return callFacts(accessCall(command.access, requestId), cwd);
  const { known, toolCall } = command;
  return callFacts({ toolCallId: requestId, ...known, ...withoutNulls(toolCall) }, cwd);
}

/** What extensions learn of a call, with its paths as they are from the root on. */
export function callFacts(call: JsonObject, cwd: string): ToolCallFacts {
  return {
    toolCallId: stringAt(call, "toolCallId") ?? "",
    title: stringAt(call, "title") ?? "",
    kind: stringAt(call, "kind") ?? "other",
    paths: [...new Set(namedPaths(call).map((path) => resolve(cwd, path)))],
    rawInput: plainInput(call),
  };
}

/** It came as JSON, and so is plain data. */
function plainInput({ rawInput = null }: JsonObject): ToolCallFacts["rawInput"] {
  return JSON.parse(JSON.stringify(rawInput));
}

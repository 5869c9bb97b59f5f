import type { AgentAsk, AskAnswer } from "../../agent/agent.ts";
import type { AgentUpdate } from "../../core/agent-update.ts";
import { type Refusal, refusal, sentenceOf } from "../../core/error.ts";
import type { TurnId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import type { AskOption } from "../../core/policy/ask.ts";
import type { AgentStatusReport } from "../../core/session/command.ts";
import type { CommandResult } from "../../core/session/event.ts";
import type { RunningPrompt } from "../../core/session/state.ts";
import { SHELL_TOOL, type SkillEntry } from "../../core/skill/skill.ts";
import * as reply from "../../core/slash/reply.ts";
import type { ToolCall, ToolContext } from "../../tool/tool.ts";
import { mayRunShells } from "../tenant/policy-check.ts";
import type { SessionWorld } from "../world.ts";
import type { AgentReports } from "./agent-reports.ts";
import type { CalledSkill } from "./called-skill.ts";
import type { OpenAsks } from "./open-asks.ts";

/** What the turn of a tool tells its session; the same as an agent's would. */
export interface ToolTurnReports {
  heardStatus(report: AgentStatusReport<"turn_complete">): void;
  heardUpdate(update: AgentUpdate): Promise<void> | undefined;
  ask(ask: AgentAsk, signal: AbortSignal): Promise<AskAnswer>;
  /** Recorded before the act: if it cannot be, there is no act. */
  audit(act: string, details: JsonObject): Promise<void>;
  commandResult(result: CommandResult): void;
}

/** A tool's turn speaks in its agent's place, as long as that is here. */
export function toolReports(
  reports: AgentReports,
  asks: OpenAsks,
  { promptId }: RunningPrompt,
  isOver: () => boolean,
): ToolTurnReports {
  return {
    heardStatus: (report) => {
      if (!isOver()) reports.status(report);
    },
    heardUpdate: (update) => (isOver() ? undefined : reports.update(update)),
    ask: (ask, signal) => asks.ask(ask, signal),
    audit: (act, details) => reports.recordAct(act, details),
    commandResult: (result) => {
      if (isOver()) return;
      reports.announce({ type: "command_result", data: { promptId, ...result } });
    },
  };
}

type ToolWorld = Pick<SessionWorld, "tools" | "policies" | "settings">;

const OPTIONS: readonly AskOption[] = [
  { optionId: "allow", name: "Allow", kind: "allow_once" },
  { optionId: "allow_always", name: "Allow for this session", kind: "allow_always" },
  { optionId: "reject", name: "Reject", kind: "reject_once" },
];

const ALLOWING: ReadonlySet<string> = new Set(["allow", "allow_always"]);

/**
 * A turn that runs one tool and asks no model: of a skill that dispatches to it. People and rules
 * decide about the call as they do about an agent's, it can be cancelled, and its result is in the
 * conversation beside the call.
 */
export class ToolTurn {
  readonly #owner: ToolTurnReports;
  readonly #world: ToolWorld;
  readonly #place: ToolContext;
  readonly #turnId: TurnId;
  readonly #giveUp = new AbortController();

  constructor(owner: ToolTurnReports, world: ToolWorld, place: ToolContext, turnId: TurnId) {
    this.#owner = owner;
    this.#world = world;
    this.#place = place;
    this.#turnId = turnId;
  }

  cancel() {
    this.#giveUp.abort();
  }

  async run({ entry, words }: CalledSkill): Promise<void> {
    const result = await this.#result(entry, words).catch((thrown: unknown) =>
      reply.toolFailed(entry.command_tool ?? "", String(thrown)),
    );
    const turnId = this.#turnId;
    if (this.#giveUp.signal.aborted) {
      this.#owner.heardStatus({ status: "turn_complete", turnId, stopReason: "cancelled" });
      return;
    }
    const text = { type: "text", text: result.message };
    await this.#owner.heardUpdate({ sessionUpdate: "agent_message_chunk", content: text });
    this.#owner.commandResult(result);
    this.#owner.heardStatus({ status: "turn_complete", turnId, stopReason: "end_turn" });
  }

  async #result(entry: SkillEntry, words: string): Promise<CommandResult> {
    const tool = entry.command_tool ?? "";
    if (tool === SHELL_TOOL && !mayRunShells(this.#world)) {
      return reply.commandRefused(refusal("session_shell_disabled"));
    }
    const called = await this.#world.tools.callOf(tool, words, this.#place);
    if (!called.ok) return notCalled(entry.skill_name, tool, called.refusal);
    const call = called.value;
    const toolCallId = `tool-${this.#turnId}`;
    const about = { toolCallId, title: call.title, kind: call.kind, rawInput: call.input };
    const toolCall = { ...about, locations: call.locations };
    await this.#owner.heardUpdate({ sessionUpdate: "tool_call", ...toolCall, status: "pending" });
    if (!(await this.#isAllowed(toolCall))) {
      await this.#ended(toolCallId, "failed", "It was not allowed.");
      return reply.skillCapabilityDenied(entry.skill_name, tool, "the call was not allowed");
    }
    return this.#ran(call, toolCallId).catch(async (thrown: unknown) => {
      await this.#ended(toolCallId, "failed", String(thrown));
      return reply.toolFailed(tool, String(thrown));
    });
  }

  async #isAllowed(toolCall: JsonObject): Promise<boolean> {
    const ask = { kind: "permission", toolCall, known: toolCall, options: OPTIONS } as const;
    const { outcome } = await this.#owner.ask(ask, this.#giveUp.signal);
    return outcome.outcome === "selected" && ALLOWING.has(outcome.optionId);
  }

  async #ran(call: ToolCall, toolCallId: string): Promise<CommandResult> {
    await this.#owner.audit("tool_dispatch", { tool: call.name, kind: call.kind });
    await this.#owner.heardUpdate({
      sessionUpdate: "tool_call_update",
      toolCallId,
      status: "in_progress",
    });
    const answer = await this.#world.tools.run(call, this.#place, this.#giveUp.signal);
    await this.#ended(toolCallId, answer.isError ? "failed" : "completed", answer.text);
    return answer.isError
      ? reply.toolFailed(call.name, answer.text)
      : reply.toolOk(call.name, answer.text);
  }

  /** A call that was called off is left open: the end of its turn closes it as cancelled. */
  async #ended(toolCallId: string, status: "completed" | "failed", text: string): Promise<void> {
    if (this.#giveUp.signal.aborted) return;
    const content = [{ type: "content", content: { type: "text", text } }];
    const sessionUpdate = "tool_call_update";
    await this.#owner.heardUpdate({
      sessionUpdate,
      toolCallId,
      status,
      content,
      rawOutput: text,
    });
  }
}

function notCalled(skill: string, tool: string, refusal: Refusal): CommandResult {
  if (refusal.code === "tool_input_invalid") {
    return reply.toolInputInvalid(tool, String(refusal.details.reason ?? sentenceOf(refusal)));
  }
  const isAway = refusal.code === "tool_unavailable";
  return isAway ? reply.toolFailed(tool, sentenceOf(refusal)) : reply.executorUnbound(skill, tool);
}

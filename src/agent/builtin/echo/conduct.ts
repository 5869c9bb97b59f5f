import type { JsonObject } from "../../../core/json.ts";
import { RPC_ERRORS } from "../../../wire/rpc.ts";
import type { Reply } from "./client-link.ts";
import { HINT } from "./help.ts";
import type { Directive, UsageArguments } from "./language.ts";
import { ECHO_CHUNKS_MAX } from "./limits.ts";
import { perform } from "./perform/perform.ts";
import type { Prompt } from "./prompt.ts";
import { readScript } from "./script.ts";
import type { Ending, Turn } from "./turn.ts";

/** What a prompt comes to, as directives: its script, or what it says, said back. */
export function directivesOf({ words, whole }: Prompt, isFirst: boolean): readonly Directive[] {
  const script = readScript(words);
  switch (script.kind) {
    case "directives":
      return script.directives;
    case "fault":
      return [says(script.sentence)];
    case "plain":
      return [...pieces(whole), ...(isFirst ? [HINT] : [])].map(says);
  }
}

function says(text: string): Directive<"say"> {
  return { verb: "say", args: { text } };
}

/** A few pieces of the same length, with no character cut in two. */
function pieces(text: string): readonly string[] {
  const characters = [...text];
  const length = Math.max(1, Math.ceil(characters.length / ECHO_CHUNKS_MAX));
  const starts = Array.from(
    { length: Math.ceil(characters.length / length) },
    (_, n) => n * length,
  );
  return starts.map((start) => characters.slice(start, start + length).join(""));
}

/** Does what the turn was told, as far as it gets, and makes the prompt's answer of it. */
export async function conduct(turn: Turn, words: string): Promise<Reply> {
  const ending = await performAll(turn);
  if (turn.isCancelled) {
    await failOpenCalls(turn);
    turn.session.recordTurn(words, turn.said);
    return answer(turn, "cancelled");
  }
  if (ending.kind === "error") return { error: ending.error };
  // ACP has it that a refused prompt, and what came after it, is not part of the conversation.
  if (ending.stopReason !== "refusal") turn.session.recordTurn(words, turn.said);
  return answer(turn, ending.stopReason);
}

async function performAll(turn: Turn): Promise<Ending> {
  try {
    for (let next = turn.next(); next !== undefined; next = turn.next()) {
      const ending = await perform(turn, next);
      if (ending !== undefined) return ending;
      if (turn.isCancelled) break;
    }
    return { kind: "stop", stopReason: "end_turn" };
  } catch (thrown) {
    return { kind: "error", error: { code: RPC_ERRORS.internal, message: String(thrown) } };
  }
}

async function failOpenCalls(turn: Turn) {
  for (const toolCallId of turn.openCalls) {
    await turn.update({ sessionUpdate: "tool_call_update", toolCallId, status: "failed" });
  }
  turn.openCalls.clear();
}

function answer({ usage }: Turn, stopReason: string): Reply {
  return { result: usage === null ? { stopReason } : { stopReason, usage: totals(usage) } };
}

function totals({ input, output, cached, thought }: UsageArguments): JsonObject {
  return {
    inputTokens: input,
    outputTokens: output,
    cachedReadTokens: cached,
    thoughtTokens: thought,
    totalTokens: input + output + cached + thought,
  };
}

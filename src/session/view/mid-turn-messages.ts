import type { PromptId } from "../../core/id.ts";
import { MID_TURN_REMEMBERED_TURNS_MAX } from "../../core/limits.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { ok, type Result } from "../../core/result.ts";
import { type Session, steeredMessage } from "../../core/session/state.ts";
import { lookBack, sinceLastTurn } from "./recent-log.ts";
import type { TurnSource } from "./turn-status.ts";

/** A message into a turn that could not be taken there, and waits or waited as a prompt. */
interface PromotedMessage {
  readonly messageId: string;
  readonly promptId: PromptId;
}

/** Those that a session remembers, which is as long as it would know a repeat of them. */
export function promotedMessages({ admissions }: Session): readonly PromotedMessage[] {
  return [...admissions].flatMap(([name, { hash, answer }]) => {
    const messageId = steeredMessage(name, hash);
    const isSteered = messageId !== null && "promptId" in answer;
    return isSteered ? [{ messageId, promptId: answer.promptId }] : [];
  });
}

/** Messages that an agent was given in its last turns, oldest first. */
export async function settledMessageIds(source: TurnSource): Promise<Result<readonly string[]>> {
  const { store, key, session } = source;
  const recent = await recentIds(source);
  if (!recent.ok) return recent;
  const earlier: string[] = [];
  const search = { text: INJECTED_MARK, turnsMax: MID_TURN_REMEMBERED_TURNS_MAX };
  const looked = await lookBack(store, key, search, (turn) => {
    earlier.unshift(...turn.flatMap(injectedIds));
    return false;
  });
  if (!looked.ok) return looked;
  return ok([...new Set([...earlier, ...recent.value, ...(session.running?.steeredIds ?? [])])]);
}

/** The running turn knows its own; of one that was broken off, only the log does. */
async function recentIds({ store, key, session }: TurnSource): Promise<Result<readonly string[]>> {
  if (session.running !== null) return ok([]);
  const since = await sinceLastTurn(store, key, INJECTED_MARK);
  return since.ok ? ok(since.value.flatMap(injectedIds)) : since;
}

const INJECTED_MARK = '"type":"mid_turn_message_injected"';

function injectedIds(event: LogEvent): readonly string[] {
  return event.type === "mid_turn_message_injected" ? event.data.messageIds : [];
}

import type { ContentBlock } from "../../core/agent-update.ts";
import { AGENT_SEED_CHARS_MAX, AGENT_SEED_MESSAGES_MAX } from "../../core/limits.ts";
import { cutText } from "../../core/text.ts";
import type { PastMessage } from "../agent.ts";

/**
 * The conversation so far, for an agent that cannot remember it: one block in front of the next
 * prompt. The newest messages are taken first, and those that do not fit are left out whole; only
 * the newest of all is cut, so that there is always something to go on from.
 */
export async function seedOf(
  newestFirst: AsyncIterable<PastMessage>,
): Promise<ContentBlock | null> {
  const taken: string[] = [];
  let chars = 0;
  let isWhole = true;
  for await (const { role, text } of newestFirst) {
    const room = AGENT_SEED_CHARS_MAX - chars;
    const isFull = taken.length >= AGENT_SEED_MESSAGES_MAX || text.length > room;
    if (isFull && taken.length > 0) {
      isWhole = false;
      break;
    }
    const fitting = text.length > room ? `${cutText(text, room)} […]` : text;
    chars += text.length;
    taken.unshift(`${role === "user" ? "User" : "You"}: ${fitting}`);
  }
  if (taken.length === 0) return null;
  const missing = isWhole ? [] : ["[Earlier messages were left out.]"];
  return { type: "text", text: [OPENING, ...missing, ...taken, CLOSING].join("\n\n") };
}

const OPENING =
  "<conversation_so_far>\nThis session was restored. This was said before; do not answer it.";
const CLOSING = "</conversation_so_far>";

import type { PromptId } from "../../core/id.ts";
import {
  COMMAND_HISTORY_EVENTS_MAX,
  COMMAND_HISTORY_MAX,
  PAGE_ROWS_MAX,
  SLASH_SUMMARY_CHARS_MAX,
} from "../../core/limits.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { ok, type Result } from "../../core/result.ts";
import { oneLine } from "../../core/slash/answer.ts";
import type { SessionKey, SessionStore } from "../../store/store.ts";
import { eventIn } from "../stored-log.ts";
import { isoTime } from "./summary.ts";

/** A slash command that was answered. */
export interface AnsweredCommand {
  /** As it was written; null if it was sent longer ago than is looked for. */
  readonly command: string | null;
  readonly code: string;
  readonly at: string;
}

/**
 * The slash commands that the last events of the log tell of, oldest first. A command's words are
 * in its prompt and not in its answer, and of what is folded only the answer is kept; so this goes
 * as far back as raw events are looked through, and no further.
 */
export async function commandHistory(
  store: Pick<SessionStore, "readEvents">,
  key: SessionKey,
  lastEventId: number,
): Promise<Result<readonly AnsweredCommand[]>> {
  const lines = new Map<PromptId, string>();
  const answered: AnsweredCommand[] = [];
  let after = Math.max(0, lastEventId - COMMAND_HISTORY_EVENTS_MAX);
  while (after < lastEventId) {
    const limit = Math.min(PAGE_ROWS_MAX, lastEventId - after);
    const page = await store.readEvents(key, { after, limit });
    if (!page.ok) return page;
    for (const stored of page.value.events) {
      const isWanted = WANTED.some((type) => stored.text.includes(type));
      if (isWanted) note(eventIn(stored), lines, answered);
    }
    after = page.value.events.at(-1)?.id ?? lastEventId;
  }
  return ok(answered.slice(-COMMAND_HISTORY_MAX));
}

const WANTED = ['"prompt_admitted"', '"command_result"'];

function note(event: LogEvent, lines: Map<PromptId, string>, answered: AnsweredCommand[]) {
  if (event.type === "prompt_admitted") {
    const { promptId, text } = event.data;
    if (text.startsWith("/")) lines.set(promptId, oneLine(text, SLASH_SUMMARY_CHARS_MAX));
  }
  if (event.type === "command_result") {
    const { promptId, code } = event.data;
    const at = isoTime(event._meta.serverTimestamp);
    answered.push({ command: lines.get(promptId) ?? null, code, at });
  }
}

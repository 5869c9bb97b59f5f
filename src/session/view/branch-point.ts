import type { PromptId, TurnId } from "../../core/id.ts";
import { PAGE_ROWS_MAX } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import type { SessionKey, SessionStore } from "../../store/store.ts";
import { readMessage } from "../conversation/index.ts";

/**
 * The completed turn that goes by this name: its own, or that of its prompt. Null if the
 * conversation has none. The newest messages are looked at first.
 */
export async function turnOfRecord(
  store: SessionStore,
  key: SessionKey,
  recordId: PromptId | TurnId,
): Promise<Result<TurnId | null>> {
  const record = await store.readRecord(key);
  if (!record.ok) return record;
  for (let through = record.value.messageCount; through > 0; ) {
    const from = Math.max(0, through - PAGE_ROWS_MAX);
    for (let after = from; after < through; ) {
      const page = await store.readMessages(key, { after, limit: through - after });
      if (!page.ok) return page;
      for (const { text } of page.value.rows) {
        const message = text.includes(recordId) ? readMessage(text) : null;
        if (message === null) continue;
        const promptId = message.role === "user" ? message.promptId : null;
        if (message.turnId === recordId || promptId === recordId) return ok(message.turnId);
      }
      after = page.value.rows.at(-1)?.id ?? through;
    }
    through = from;
  }
  return ok(null);
}

import type { AgentUpdate } from "../agent-update.ts";
import { isObject, type JsonObject, stringAt } from "../json.ts";

/**
 * What the updates of one context compaction amount to: its latest status, and its summary from
 * all pieces. ACP has it that a field which is left out stays, that null clears it, and that a
 * piece of the summary is appended.
 */
export function compactionOf(updates: readonly AgentUpdate[]): AgentUpdate {
  const fields = new Map<string, unknown>([["status", "in_progress"]]);
  let summary: Summary | null = null;
  for (const { content, summary: whole, sessionUpdate, ...said } of updates) {
    for (const [key, value] of Object.entries(said)) fields.set(key, value);
    if (sessionUpdate === "compaction_summary_chunk") {
      summary ??= new Summary();
      summary.add(content);
    } else if (whole !== undefined) {
      summary = new Summary();
      for (const block of Array.isArray(whole) ? whole : []) summary.add(block);
    }
  }
  return {
    ...Object.fromEntries(fields),
    sessionUpdate: "compaction_update",
    ...(summary !== null && { summary: summary.blocks }),
  };
}

/** Content blocks in order; texts that follow each other are one block. */
class Summary {
  readonly #blocks: (JsonObject | string[])[] = [];

  add(block: unknown) {
    if (!isObject(block)) return;
    const text = isPlainText(block) ? stringAt(block, "text") : null;
    const last = this.#blocks.at(-1);
    if (text === null) this.#blocks.push(block);
    else if (Array.isArray(last)) last.push(text);
    else this.#blocks.push([text]);
  }

  get blocks(): readonly JsonObject[] {
    return this.#blocks.map((block) => {
      return Array.isArray(block) ? { type: "text", text: block.join("") } : block;
    });
  }
}

/** A text with nothing else that a joined block would lose. */
function isPlainText(block: JsonObject): boolean {
  return block.type === "text" && Object.keys(block).length === 2;
}

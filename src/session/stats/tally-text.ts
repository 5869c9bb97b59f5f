import { isObject, type JsonObject } from "../../core/json.ts";
import { isCount } from "../../core/price.ts";
import type { ContextFill, ModelTally, Tally, ToolTally } from "./tally.ts";

/** Where a tally is kept: a slot of its own, written with every snapshot. */
export const TALLY_SLOT = { owner: "fermata.stats", version: "1" } as const;

export function tallyText({ tools, models, ...rest }: Tally): string {
  return JSON.stringify({ tools: [...tools], models: [...models], ...rest });
}

/** The tally that a stored text holds; null if it is none, and then counting begins again. */
export function readTally(text: string): Tally | null {
  const stored = parsed(text);
  if (stored === null) return null;
  const { linesAdded, linesRemoved } = stored;
  const tools = mapOf(stored.tools, toolOf);
  const models = mapOf(stored.models, modelOf);
  if (tools === null || models === null || !isFigure(linesAdded) || !isFigure(linesRemoved)) {
    return null;
  }
  return { tools, models, linesAdded, linesRemoved, context: contextOf(stored.context) };
}

function parsed(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function mapOf<Value>(
  entries: unknown,
  read: (stored: JsonObject) => Value | null,
): ReadonlyMap<string, Value> | null {
  const map = new Map<string, Value>();
  for (const entry of Array.isArray(entries) ? entries : [null]) {
    const [name, stored]: readonly unknown[] = Array.isArray(entry) ? entry : [];
    const value = isObject(stored) ? read(stored) : null;
    if (typeof name !== "string" || value === null) return null;
    map.set(name, value);
  }
  return map;
}

function toolOf(stored: JsonObject): ToolTally | null {
  const { count, success, fail, durationMs, accept, reject, autoAccept } = stored;
  if (!isFigure(count) || !isFigure(success) || !isFigure(fail)) return null;
  if (!isFigure(durationMs) || !isFigure(accept) || !isFigure(reject)) return null;
  if (!isFigure(autoAccept)) return null;
  return { count, success, fail, durationMs, accept, reject, autoAccept };
}

function modelOf({ turns, errors, durationMs }: JsonObject): ModelTally | null {
  if (!isFigure(turns) || !isFigure(errors) || !isFigure(durationMs)) return null;
  return { turns, errors, durationMs };
}

function contextOf(stored: unknown): ContextFill | null {
  if (!isObject(stored)) return null;
  const { model, used, size } = stored;
  return {
    model: typeof model === "string" ? model : null,
    used: isFigure(used) ? used : null,
    size: isFigure(size) ? size : null,
  };
}

function isFigure(value: unknown): value is number {
  return typeof value === "number" && isCount(value);
}

import { isObject, type JsonObject } from "../core/json.ts";
import { RPC_NESTING_MAX } from "../core/limits.ts";
import { isNestedDeeper } from "../wire/nesting.ts";

/**
 * The JSON object that these words are; null if they are none. Braces alone do not make one: a
 * command line may begin with them, too.
 */
export function objectIn(words: string): JsonObject | null {
  if (!words.trimStart().startsWith("{") || isNestedDeeper(words, RPC_NESTING_MAX)) return null;
  try {
    const value: unknown = JSON.parse(words);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

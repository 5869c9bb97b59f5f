import { resolve } from "node:path";
import { z } from "zod";
import type { JsonObject } from "../../core/json.ts";
import { TOOL_TITLE_CHARS_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { cutText } from "../../core/text.ts";
import { failedBy } from "../answer.ts";
import type { ToolAnswer, ToolCall, ToolInfo, ToolPlace } from "../tool.ts";
import { objectIn } from "../words.ts";

/** A tool that is part of the server. */
export interface Builtin extends ToolInfo {
  callOf(words: string, place: ToolPlace): Result<ToolCall>;
  run(input: JsonObject, place: ToolPlace, signal: AbortSignal): Promise<ToolAnswer>;
}

/** What one tool has of its own, and others have differently. */
interface Making<Input extends JsonObject> extends ToolInfo {
  readonly schema: z.ZodType<Input>;
  /** What words mean that are no JSON object; it is looked at like any other input. */
  meaning(words: string): JsonObject;
  describe(input: Input, place: ToolPlace): Pick<ToolCall, "title" | "kind" | "locations">;
  run(input: Input, place: ToolPlace, signal: AbortSignal): Promise<ToolAnswer>;
}

export function builtin<Input extends JsonObject>(making: Making<Input>): Builtin {
  const { name, description, schema } = making;
  const read = (input: JsonObject): Result<Input> => {
    const parsed = schema.safeParse(input);
    if (parsed.success) return ok(parsed.data);
    const [issue] = parsed.error.issues;
    const reason = [issue?.path.join("."), issue?.message].filter(Boolean).join(": ");
    return fail("tool_input_invalid", { tool: name, reason });
  };
  return {
    name,
    description,
    callOf: (words, place) => {
      const input = read(objectIn(words) ?? making.meaning(words));
      if (!input.ok) return input;
      const { title, ...rest } = making.describe(input.value, place);
      const line = cutText(title.replace(/\s+/g, " "), TOOL_TITLE_CHARS_MAX);
      return ok({ name, title: line, ...rest, input: input.value });
    },
    run: async (given, place, signal) => {
      const input = read(given);
      return input.ok ? making.run(input.value, place, signal) : failedBy(input.refusal);
    },
  };
}

/** A text for the system, which ends such texts at the first NUL. */
export const SYSTEM_TEXT = z
  .string()
  .refine((text) => text.trim() !== "", "it is empty")
  .refine((text) => !text.includes("\0"), "it holds a NUL character");

/**
 * Where a path leads from here. What people allow is this very path, so it is also what is used:
 * the names are put together without looking at what they are.
 */
export function pathIn({ cwd }: ToolPlace, path: string): string {
  return resolve(cwd, path);
}

/**
 * A call is in its session's log before it is run, so the guards of files and commands, which want
 * each act to be recorded first, have nothing to wait for.
 */
export async function recordedAlready(): Promise<void> {}

import { z } from "zod";
import { isObject, type JsonObject, objectAt, stringAt } from "../../core/json.ts";

/** What a call came to, as a server says it. */
export const CALL_RESULT = z.looseObject({
  content: z.array(z.unknown()).optional(),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
});

export type CallResult = z.infer<typeof CALL_RESULT>;

/** Its texts, one after the other; what is no text is named. */
export function textOfResult({ content = [], structuredContent }: CallResult): string {
  if (content.length > 0) return content.map(textOf).join("\n");
  return structuredContent === undefined ? "[no output]" : JSON.stringify(structuredContent);
}

function textOf(block: unknown): string {
  if (!isObject(block)) return "[something unreadable was left out]";
  const type = stringAt(block, "type") ?? "block";
  if (type === "text") return stringAt(block, "text") ?? "";
  if (type === "resource_link") return `[link to ${stringAt(block, "uri") ?? "nowhere"}]`;
  const resource = objectAt(block, "resource");
  return (resource && stringAt(resource, "text")) ?? leftOut(type, resource ?? block);
}

function leftOut(type: string, { mimeType, uri }: JsonObject): string {
  const about = [mimeType, uri].filter((part) => typeof part === "string").join(", ");
  return `[${type}${about === "" ? "" : ` (${about})`} was left out]`;
}

import { z } from "zod";
import { isObject, type JsonObject, objectAt, stringAt } from "../../core/json.ts";
import { MCP_TOOL_NAME_CHARS_MAX, TOOL_DESCRIPTION_CHARS_MAX } from "../../core/limits.ts";
import { cutText } from "../../core/text.ts";
import { objectIn } from "../tool.ts";

/** A tool as its server offers it. */
export interface McpTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** It says of itself that it changes nothing. */
  readonly isReadOnly: boolean;
}

/** One page of tools. What is in it is looked at piece by piece: one bad tool harms no other. */
export const TOOL_PAGE = z.looseObject({
  tools: z.array(z.unknown()),
  nextCursor: z.string().optional(),
});

/** Null for what nobody could call. */
export function readTool(value: unknown): McpTool | null {
  const name = isObject(value) ? stringAt(value, "name") : null;
  if (!isObject(value) || name === null || !TOOL_NAME.test(name)) return null;
  const description = stringAt(value, "description") ?? "";
  return {
    name,
    description: cutText(description, TOOL_DESCRIPTION_CHARS_MAX),
    inputSchema: objectAt(value, "inputSchema") ?? {},
    isReadOnly: objectAt(value, "annotations")?.readOnlyHint === true,
  };
}

const TOOL_NAME = new RegExp(`^[^\\s\\p{Cc}]{1,${MCP_TOOL_NAME_CHARS_MAX}}$`, "u");

/** The input that these words are for a tool, or the sentence that says why they are none. */
export function inputFrom(words: string, { inputSchema }: McpTool): JsonObject | string {
  const input = objectIn(words) ?? meaningOf(words, inputSchema);
  if (input === null) return "give it a JSON object";
  return faultOf(input, inputSchema) ?? input;
}

/** Without an object, words are the one text that the tool cannot do without. */
function meaningOf(words: string, schema: JsonObject): JsonObject | null {
  if (words.trim() === "") return {};
  const [name, ...others] = requiredBy(schema);
  if (name === undefined || others.length > 0) return null;
  return typesOf(schema, name)?.includes("string") ? { [name]: words } : null;
}

/** Only what is missing or plainly of another type: the server looks closely. */
function faultOf(input: JsonObject, schema: JsonObject): string | null {
  const missing = requiredBy(schema).find((name) => !Object.hasOwn(input, name));
  if (missing !== undefined) return `"${missing}" is missing`;
  for (const [name, value] of Object.entries(input)) {
    const types = typesOf(schema, name);
    if (types !== null && !types.some((type) => isOf(type, value))) {
      return `"${name}" must be of type ${types.join(" or ")}`;
    }
  }
  return null;
}

function requiredBy({ required }: JsonObject): readonly string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
}

/** Null where the schema says nothing that is so simple. */
function typesOf(schema: JsonObject, name: string): readonly string[] | null {
  const properties = objectAt(schema, "properties") ?? {};
  const property = Object.hasOwn(properties, name) ? objectAt(properties, name) : null;
  const types = [property?.type].flat().filter((type) => typeof type === "string");
  return types.length === 0 ? null : types;
}

const TYPES: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ["string", (value) => typeof value === "string"],
  ["number", (value) => typeof value === "number"],
  ["integer", Number.isInteger],
  ["boolean", (value) => typeof value === "boolean"],
  ["array", Array.isArray],
  ["object", isObject],
  ["null", (value) => value === null],
]);

/** A type that nobody has heard of is for the server to judge. */
function isOf(type: string, value: unknown): boolean {
  return TYPES.get(type)?.(value) ?? true;
}

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

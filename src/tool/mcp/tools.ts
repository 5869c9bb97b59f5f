import { z } from "zod";
import { isObject, type JsonObject, objectAt, stringAt } from "../../core/json.ts";
import { MCP_TOOL_NAME_CHARS_MAX, TOOL_DESCRIPTION_CHARS_MAX } from "../../core/limits.ts";
import { cutText } from "../../core/text.ts";
import { parseObject } from "../tool.ts";

/** A tool that an MCP server offers. */
export interface McpTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** Whether the server declares that the tool changes nothing. */
  readonly isReadOnly: boolean;
}

/** One page of tools. Each is read on its own, so that a bad one does not hide the others. */
export const TOOL_PAGE = z.looseObject({
  tools: z.array(z.unknown()),
  nextCursor: z.string().optional(),
});

/** Null for a tool that cannot be called. */
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

/** Parses a text into the input of a tool, or returns the reason why it is none. */
export function inputFrom(text: string, { inputSchema }: McpTool): JsonObject | string {
  const input = parseObject(text) ?? inputOf(text, inputSchema);
  if (input === null) return "give it a JSON object";
  return faultOf(input, inputSchema) ?? input;
}

/** A text that is no object is the value of the only required parameter, if that is a string. */
function inputOf(text: string, schema: JsonObject): JsonObject | null {
  if (text.trim() === "") return {};
  const [name, ...others] = requiredBy(schema);
  if (name === undefined || others.length > 0) return null;
  return typesOf(schema, name)?.includes("string") ? { [name]: text } : null;
}

/** Checks only for missing parameters and wrong simple types; the server checks the rest. */
export function faultOf(input: JsonObject, schema: JsonObject): string | null {
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

/** The simple types of a parameter; null if the schema has none. */
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

/** An unknown type passes: the server checks it. */
function isOf(type: string, value: unknown): boolean {
  return TYPES.get(type)?.(value) ?? true;
}

/** The result of a call. */
export const CALL_RESULT = z.looseObject({
  content: z.array(z.unknown()).optional(),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
});

export type CallResult = z.infer<typeof CALL_RESULT>;

/** Joins the texts of a result, and names the blocks that are no text. */
export function textOfResult({ content = [], structuredContent }: CallResult): string {
  if (content.length > 0) return content.map(textOf).join("\n");
  return structuredContent === undefined ? "[no output]" : JSON.stringify(structuredContent);
}

function textOf(block: unknown): string {
  if (!isObject(block)) return "[an unreadable block was left out]";
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

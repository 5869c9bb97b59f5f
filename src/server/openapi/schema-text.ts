import { isObject, type JsonObject, stringAt } from "../../core/json.ts";

/** A field of an object, as a table has it. */
export interface FieldText {
  readonly name: string;
  readonly isRequired: boolean;
  readonly type: string;
  readonly says: string;
}

/** The name of the schema that this one refers to; null if it is one of its own. */
export function nameOf(schema: JsonObject): string | null {
  const reference = stringAt(schema, "$ref");
  return reference === null ? null : (reference.split("/").at(-1) ?? null);
}

/** A type in a few words: `string`, `Turn[]`, `ask | allowlist | yolo`, `integer or null`. */
export function typeText(schema: JsonObject): string {
  const name = nameOf(schema);
  if (name !== null) return name;
  const choices = [schema.anyOf, schema.oneOf, schema.allOf].find(Array.isArray);
  if (choices !== undefined)
    return [...new Set(choices.filter(isObject).map(typeText))].join(" or ");
  if (Array.isArray(schema.enum)) return schema.enum.map(wordOf).join(" | ");
  if (schema.const !== undefined) return wordOf(schema.const);
  const { type, items } = schema;
  if (type === "array") return `${isObject(items) ? grouped(typeText(items)) : "any"}[]`;
  const types = [type].flat().filter((one) => typeof one === "string");
  return types.length === 0 ? "any" : types.join(" or ");
}

const grouped = (text: string) => (text.includes(" ") ? `(${text})` : text);

function wordOf(value: unknown): string {
  return typeof value === "string" && value !== "" ? value : JSON.stringify(value);
}

/** The fields of an object, in their order; none where it is no object with known fields. */
export function fieldsOf(schema: JsonObject): readonly FieldText[] {
  const { properties, required } = schema;
  if (!isObject(properties)) return [];
  const needed = new Set(Array.isArray(required) ? required : []);
  return Object.entries(properties).map(([name, field]) => {
    const described = isObject(field) ? field : {};
    const says = [stringAt(described, "description") ?? "", boundsOf(described)];
    return {
      name,
      isRequired: needed.has(name),
      type: typeText(described),
      says: says.filter((text) => text !== "").join("; "),
    };
  });
}

/** What a value may be at most and at least, and what it is by default. */
export function boundsOf(schema: JsonObject): string {
  const { minimum, maximum, minLength, maxLength, maxItems, default: usual } = schema;
  const isPlain = typeof usual === "string" || typeof usual === "number";
  const bounds = [
    ...(typeof minimum === "number" && minimum !== 0 ? [`at least ${minimum}`] : []),
    ...(typeof maximum === "number" ? [`at most ${maximum}`] : []),
    ...(typeof minLength === "number" && minLength > 1 ? [`at least ${minLength} characters`] : []),
    ...(typeof maxLength === "number" ? [`at most ${maxLength} characters`] : []),
    ...(typeof maxItems === "number" ? [`at most ${maxItems}`] : []),
    ...(isPlain ? [`${usual} by default`] : []),
  ];
  return bounds.join(", ");
}

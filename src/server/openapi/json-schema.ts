import { z } from "zod";
import { isObject, type JsonObject } from "../../core/json.ts";
import { NAMED_SCHEMAS } from "../../wire/named-schema.ts";

/** Schemas of a document: each named one once, all others where they are used. */
export class DocumentSchemas {
  readonly #named = new Map<string, unknown>();

  /** By name, in the order of the alphabet. */
  get named(): JsonObject {
    return Object.fromEntries(
      [...this.#named].toSorted(([one], [other]) => (one < other ? -1 : 1)),
    );
  }

  /** What a client may send. */
  input(schema: z.ZodType): JsonObject {
    return this.#of(schema, "input");
  }

  /** What the server answers. It may have further fields in later versions. */
  output(schema: z.ZodType): JsonObject {
    return this.#of(schema, "output");
  }

  /** A value of a query. It is text, which may have to be that of a number or of a list. */
  parameter(schema: z.ZodType): JsonObject {
    const read = this.#of(schema, "output");
    const { description, default: usual, ...sent } = this.#of(schema, "input");
    const { default: _, ...value } = read;
    const isNumber = value.type === "integer" || value.type === "number";
    const isList = value.type === "array";
    const shape = isNumber || isList ? value : sent;
    return { ...shape, ...(isTold(usual) && { default: usual }) };
  }

  #of(schema: z.ZodType, io: "input" | "output"): JsonObject {
    const made = z.toJSONSchema(schema, {
      io,
      metadata: NAMED_SCHEMAS,
      unrepresentable: "any",
      override: ({ zodSchema, jsonSchema }) => {
        const elements = io === "input" ? elementsOf(zodSchema) : undefined;
        if (elements !== undefined) jsonSchema.items = elements;
        tidy(jsonSchema, io);
      },
    });
    const { $schema: _, $defs = {}, ...rest } = made;
    for (const [name, one] of Object.entries($defs)) this.#named.set(name, withReferences(one));
    const plain = withReferences(rest);
    return isObject(plain) ? plain : {};
  }
}

/** What a list may have whose length is checked before its elements, as `listOf` does. */
function elementsOf(schema: z.core.$ZodType) {
  if (!(schema instanceof z.ZodPipe) || !(schema.out instanceof z.ZodArray)) return undefined;
  if (!(schema.in instanceof z.ZodArray)) return undefined;
  const { items } = z.toJSONSchema(schema.out, { io: "input", unrepresentable: "any" });
  return isObject(items) ? items : undefined;
}

/** Bounds that stand for "without end" say nothing to a reader. */
function isTold(usual: unknown): boolean {
  return typeof usual === "string" || (typeof usual === "number" && Math.abs(usual) < 1e12);
}

/** Leaves out what says nothing to a reader. */
function tidy(schema: z.core.JSONSchema.BaseSchema, io: "input" | "output") {
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.format === "date-time") delete schema.pattern;
  if (io === "output" && schema.additionalProperties === false) delete schema.additionalProperties;
  const isOpen = isObject(schema.additionalProperties) && isEmpty(schema.additionalProperties);
  if (isOpen) schema.additionalProperties = true;
  delete schema.id;
}

const isEmpty = (value: object) => Object.keys(value).length === 0;

/** The same with references into the document's components. */
function withReferences(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withReferences);
  if (!isObject(value)) return value;
  const fields = Object.entries(value).map(([name, one]) => {
    const isReference = name === "$ref" && typeof one === "string";
    return [name, isReference ? referenceTo(one.replace("#/$defs/", "")) : withReferences(one)];
  });
  return Object.fromEntries(fields);
}

function referenceTo(name: string): string {
  return `#/components/schemas/${name}`;
}

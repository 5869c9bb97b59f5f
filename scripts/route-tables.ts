import { isObject, type JsonObject } from "../src/core/json.ts";
import { TASKS } from "../src/server/openapi/description.ts";
import {
  isRefusal,
  type OpenApiDocument,
  type Response,
  type RouteOperation,
} from "../src/server/openapi/document.ts";
import { fieldsOf, nameOf, typeText } from "../src/server/openapi/schema-text.ts";

/** A row is one line of the page, so of long shapes the first fields stand for all. */
const CELL_CHARS_MAX = 58;

/** The tables of docs/protocol.md, by task. A line of the page has at most 160 characters. */
export function routeTables(document: OpenApiDocument): ReadonlyMap<string, string> {
  const rows = Object.entries(document.paths).flatMap(([path, methods]) => {
    return Object.entries(methods).map(([method, operation]) => {
      const name = `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`;
      const answer = answerOf(operation, document.components.schemas);
      const cells = [`\`${name}\``, idOf(operation), exampleOf(operation), answer];
      return { task: operation.tags[0], row: `| ${cells.join(" | ")} |` };
    });
  });
  const tables = Object.keys(TASKS).map((task) => {
    const own = rows.filter((one) => one.task === task).map(({ row }) => row);
    return [task, [...HEAD, ...own].join("\n")] as const;
  });
  return new Map(tables);
}

const HEAD = ["| Route | Id | Example | Answer |", "|---|---|---|---|"];

/** The page with these tables between its marks; throws unless each table has one mark. */
export function withTables(page: string, tables: ReadonlyMap<string, string>): string {
  const left = new Set(tables.keys());
  const made = page.replaceAll(MARKED, (_, task: string) => {
    const table = tables.get(task);
    if (table === undefined || !left.delete(task)) throw new Error(`no table for ${task}`);
    return `<!-- routes: ${task} -->\n${table}\n`;
  });
  if (left.size > 0) throw new Error(`no mark for ${[...left].join(", ")}`);
  return made;
}

/** A mark, and the table behind it. */
const MARKED = /<!-- routes: (\w+) -->\n(?:\|.*\n)*/g;

function idOf(operation: RouteOperation): string {
  const id = operation["x-client-id"] ?? "–";
  return operation["x-strict"] ? `${id}, *strict*` : id;
}

/** The query and the body of the example; a dash where there is nothing to send. */
function exampleOf({ parameters = [], requestBody }: RouteOperation): string {
  const given = parameters.filter((one) => one.in === "query" && one.example !== undefined);
  const query = given.map(({ name, example }) => `${name}=${example}`).join("&");
  const body = requestBody?.content["application/json"]?.example;
  const text = [query === "" ? "" : `?${query}`, body === undefined ? "" : JSON.stringify(body)];
  const sent = text.filter((part) => part !== "").join(" ");
  return sent === "" ? "–" : `\`${sent}\``;
}

/** The first answer, and the statuses of the others that are no refusals. */
function answerOf({ responses }: RouteOperation, schemas: JsonObject): string {
  const [first, ...others] = Object.entries(responses).filter(([, one]) => !isRefusal(one));
  if (first === undefined) return "";
  const [status, { content = {} }] = first;
  const shown = [status, bodyOf(content, schemas)].filter((text) => text !== "").join(" ");
  return [shown, ...others.map(([other]) => `also ${other}`)].join("; ");
}

function bodyOf(content: NonNullable<Response["content"]>, schemas: JsonObject): string {
  const types = Object.keys(content);
  const schema = content["application/json"]?.schema;
  if (schema === undefined) return types.map((type) => `\`${type}\``).join(" or ");
  return `\`${shapeOf(resolved(schema, schemas))}\``;
}

/** The schema itself, where this refers to one; of a choice the first. */
function resolved(schema: JsonObject, schemas: JsonObject): JsonObject {
  const named = schemas[nameOf(schema) ?? ""];
  if (isObject(named)) return named;
  const [first] = Array.isArray(schema.anyOf) ? schema.anyOf : [];
  return isObject(first) ? resolved(first, schemas) : schema;
}

/** The names of the fields, as many as there is place for. */
function shapeOf(schema: JsonObject): string {
  const names = fieldsOf(schema).map(({ name, isRequired, type }) => {
    return `${name}${type.endsWith("[]") ? "[]" : ""}${isRequired ? "" : "?"}`;
  });
  if (names.length === 0) return typeText(schema) === "object" ? "{}" : typeText(schema);
  const kept: string[] = [];
  for (const name of names) {
    if ([...kept, name].join(", ").length > CELL_CHARS_MAX) return `{${kept.join(", ")}, …}`;
    kept.push(name);
  }
  return `{${kept.join(", ")}}`;
}

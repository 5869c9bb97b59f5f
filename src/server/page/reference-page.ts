import { isObject, type JsonObject } from "../../core/json.ts";
import type { WholeText } from "../http/answer.ts";
import { TASKS } from "../openapi/description.ts";
import {
  isRefusal,
  type OpenApiDocument,
  type Response,
  type RouteOperation,
} from "../openapi/document.ts";
import { boundsOf, type FieldText, fieldsOf, nameOf, typeText } from "../openapi/schema-text.ts";
import { type Markup, markup, page } from "./html.ts";

/** An operation with where it is. */
interface Place {
  readonly method: string;
  readonly path: string;
  readonly operation: RouteOperation;
}

/** The page at `/docs`: all routes by task, for the browser's own search. It has no script. */
export function referencePage(document: OpenApiDocument): WholeText {
  const { info, paths, components } = document;
  const places = Object.entries(paths).flatMap(([path, methods]) => {
    return Object.entries(methods).map(([method, operation]) => {
      return { method: method.toUpperCase(), path, operation };
    });
  });
  const tasks = Object.entries(TASKS).map(([task, title]) => {
    const own = places.filter(({ operation }) => operation.tags[0] === task);
    return { task, title, own };
  });
  return page(
    200,
    "Routes – Fermata",
    markup`<header><div>
<h1>Routes <small>Fermata ${info.version}</small></h1>
<p>Made from the schemas that read the requests. For programs: <a href="/openapi.json">OpenAPI
3.1</a>. In words: <code>docs/protocol.md</code>; of each code: <code>docs/errors.md</code>.</p>
<p>${info.description}</p>
</div></header>
<nav>${tasks.map(contents)}</nav>
${tasks.map(({ task, title, own }) => {
  return markup`<section><h2 id="${task}">${title}</h2>${own.map(routeMarkup)}</section>`;
})}
<section><h2 id="schemas">Shapes</h2>
${Object.entries(components.schemas).map(([name, schema]) => shapeMarkup(name, schema))}</section>`,
  );
}

interface TaskContents {
  readonly task: string;
  readonly title: string;
  readonly own: readonly Place[];
}

function contents({ task, title, own }: TaskContents): Markup {
  return markup`<h3><a href="#${task}">${title}</a></h3><ul class="routes">${own.map(
    ({ method, path, operation }) =>
      markup`<li><a href="#${operation.operationId}"><b>${method}</b> ${breakable(path)}</a></li>`,
  )}</ul>`;
}

function routeMarkup({ method, path, operation }: Place): Markup {
  const { operationId, summary, description = "", parameters = [], requestBody } = operation;
  const inputs = parameters.map((one) => {
    const says = [one.description ?? "", boundsOf(one.schema)].filter((text) => text !== "");
    const where = { path: "path", query: "query", header: "header" }[one.in];
    const type = `${typeText(one.schema)}, ${where}`;
    return { name: one.name, type, isRequired: one.required === true, says: says.join("; ") };
  });
  const body = requestBody?.content["application/json"]?.schema;
  return markup`<article id="${operationId}">
<h3><b class="method">${method}</b> <code>${breakable(path)}</code></h3>
<p>${summary} ${description}</p>
<p class="soft">${needs(operation)}</p>
<pre>${exampleOf({ method, path, operation })}</pre>
${fieldTable("Takes", [...inputs, ...(body === undefined ? [] : fieldsOf(body))])}
<dl>${Object.entries(operation.responses).map(([status, one]) => answerMarkup(status, one))}</dl>
</article>`;
}

function needs(operation: RouteOperation): string {
  if (operation.security !== undefined) return "Needs no token.";
  const permission = operation["x-permission"];
  const whose = permission === undefined ? "For every caller" : `Needs ${permission}`;
  return operation["x-strict"] ? `${whose}, and a server with tokens.` : `${whose}.`;
}

/** The example as a command, without what every request has: the server and the token. */
function exampleOf({ method, path, operation }: Place): string {
  const { parameters = [], requestBody } = operation;
  const given = parameters.filter(({ example }) => example !== undefined);
  const filled = given
    .filter((one) => one.in === "path")
    .reduce((url, { name, example = "" }) => url.replace(`{${name}}`, encoded(example)), path);
  const query = given
    .filter((one) => one.in === "query")
    .map(({ name, example = "" }) => `${name}=${encodeURIComponent(example)}`);
  const body = requestBody?.content["application/json"]?.example;
  const lines = [
    `curl -X ${method} "$URL${filled}${query.length > 0 ? `?${query.join("&")}` : ""}"`,
    ...(body === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(body)}'`]),
  ];
  return lines.join(" \\\n  ");
}

/** As in a path, but for slashes that a path has itself. */
const encoded = (text: string) => encodeURIComponent(text).replaceAll("%3A", ":");

function fieldTable(title: string, fields: readonly FieldText[]): Markup {
  if (fields.length === 0) return markup``;
  const rows = fields.map(({ name, type, isRequired, says }) => {
    const need = isRequired ? "" : "optional";
    const words = [need, says].filter((text) => text !== "").join("; ");
    return markup`<tr><td><code>${breakable(name)}</code></td>
<td class="soft">${typeLink(type)}</td><td>${words}</td></tr>
`;
  });
  return markup`<h4>${title}</h4><table class="fields">${rows}</table>`;
}

/** A link where the whole type is the name of a shape, or a list of one. */
function typeLink(type: string): Markup {
  const [, name = ""] = /^([A-Z]\w+)(?:\[\])?$/.exec(type) ?? [];
  return name === "" ? markup`${type}` : markup`<a href="#shape-${name}">${type}</a>`;
}

function answerMarkup(status: string, response: Response): Markup {
  const { description, content = {} } = response;
  const bodies = Object.entries(content).map(([type, { schema }]) => {
    const name = nameOf(schema);
    const shown =
      name === null ? inlineFields(schema) : markup`<a href="#shape-${name}">${name}</a>`;
    return type === "application/json" ? shown : markup`${type}: ${shown}; `;
  });
  const says = isRefusal(response) ? codes(description) : markup`${description}. ${bodies}`;
  return markup`<dt>${status}</dt><dd>${says}</dd>`;
}

/** Each code as code, so that a search for one finds it whole. */
function codes(description: string): Markup {
  const all = description.split(", ").map((code) => markup`<code>${code}</code> `);
  return markup`${all}`;
}

function inlineFields(schema: JsonObject): Markup {
  const fields = fieldsOf(schema);
  if (fields.length === 0) return markup`${typeText(schema)}`;
  const shown = fields.map(({ name, isRequired, type }) => {
    const field = `${name}${isRequired ? "" : "?"}`;
    return markup`<code>${field}</code> <span class="soft">${typeLink(type)}</span> `;
  });
  return markup`${shown}`;
}

function shapeMarkup(name: string, schema: unknown): Markup {
  const shape = isObject(schema) ? schema : {};
  const fields = fieldsOf(shape);
  const plain = fields.length > 0 ? "" : typeText(shape);
  return markup`<article id="shape-${name}"><h3>${name}</h3>
${plain === "" ? "" : markup`<p>${plain}</p>`}${fieldTable("Has", fields)}</article>`;
}

/** Long names may break after these characters. */
function breakable(text: string): Markup {
  const pieces = text.split(/(?<=[/_-])/).map((piece) => markup`${piece}<wbr>`);
  return markup`${pieces}`;
}

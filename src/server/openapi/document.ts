import { z } from "zod";
import { ERRORS, type ErrorCode } from "../../core/error.ts";
import type { JsonObject } from "../../core/json.ts";
import { bodyKindOf, type Route } from "../http/route.ts";
import {
  type AnswerBody,
  REQUEST_HEADERS,
  type RequestHeader,
  type RouteDescription,
  TASKS,
} from "./description.ts";
import { DocumentSchemas } from "./json-schema.ts";
import { pathParametersOf } from "./path-parameters.ts";

/** A parameter of an operation, in its path, its query or its headers. */
interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: JsonObject;
  readonly example?: string;
}

/** A body by its media types. */
type Content = Readonly<
  Record<string, { readonly schema: JsonObject; readonly example?: unknown }>
>;

/** What is answered with a status. */
export interface Response {
  readonly description: string;
  readonly content?: Content;
}

/** A route as OpenAPI has it. */
export interface RouteOperation {
  readonly tags: readonly [keyof typeof TASKS];
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly security?: readonly [];
  readonly "x-permission"?: string;
  readonly "x-strict"?: true;
  /** A client id that is sent has to be known to the session, or only to have the shape of one. */
  readonly "x-client-id"?: "known" | "shape";
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, Response>>;
}

export interface OpenApiDocument {
  readonly openapi: "3.1.0";
  readonly info: Readonly<Record<"title" | "version" | "summary" | "description", string>>;
  /** Operations by path and method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, RouteOperation>>>>;
  readonly components: { readonly schemas: JsonObject };
}

/** The description of all routes in OpenAPI 3.1, from the rows that serve them. */
export function openApiDocument(routes: readonly Route[], version: string): OpenApiDocument {
  const schemas = new DocumentSchemas();
  const paths: Record<string, Record<string, RouteOperation>> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
    paths[path] = {
      ...paths[path],
      [route.method.toLowerCase()]: operationOf(route, schemas),
    };
  }
  const about = {
    summary: "Agent session server: tmux for AI agents",
    description: INTRODUCTION,
    license: { name: "Apache-2.0", identifier: "Apache-2.0" },
  };
  const common = {
    servers: [{ url: "/", description: "The server that this comes from" }],
    security: [{ token: [] }],
    tags: Object.entries(TASKS).map(([name, description]) => ({ name, description })),
  };
  const components = {
    schemas: { ...schemas.named, Error: ERROR },
    securitySchemes: { token: TOKEN },
  };
  return {
    openapi: "3.1.0",
    info: { title: "Fermata", version, ...about },
    ...common,
    paths,
    components,
  };
}

/** Any request may get these, before it comes to its route. */
const ANY_REQUEST: readonly ErrorCode[] = [
  "invalid_host",
  "cors_denied",
  "too_many_attempts",
  "key_set_unavailable",
  "rate_limit_exceeded",
  "share_exceeded",
  "server_busy",
  "server_starting",
  "tenant_deleting",
  "store_unavailable",
  "internal_error",
];

/** A session is read from the store for these requests, where that is possible. */
const OF_SESSION: readonly ErrorCode[] = [
  "session_not_found",
  "session_name_ambiguous",
  "session_closing",
  "session_limit_exceeded",
  "session_locked",
  "session_corrupt",
  "resume_mismatch",
  "server_stopping",
];

const OF_BODY: readonly ErrorCode[] = [
  "invalid_request",
  "invalid_json",
  "unsupported_media",
  "body_too_large",
  "body_too_slow",
];

const INTRODUCTION = [
  "Bodies are JSON. A refused request is answered with error, a sentence, and code, which stays as",
  "it is; docs/errors.md explains each. Answers may have further fields in later versions. Any",
  `request may get these codes too: ${ANY_REQUEST.join(", ")}.`,
].join(" ");

const TOKEN = {
  type: "http",
  scheme: "bearer",
  description: "Of a server that has tokens. One that has none takes every caller as its owner.",
};

const ERROR = {
  type: "object",
  description: "Why a request was refused, with further fields that are the facts of the case",
  properties: {
    error: { type: "string", description: "A sentence for people" },
    code: { type: "string", description: "For programs; it stays as it is" },
  },
  required: ["error", "code"],
  additionalProperties: true,
};

/** Votes look at their body first, and so read the id themselves. */
function idWordOf({ clientId }: Route, { headers = [] }: RouteDescription) {
  if (clientId === "shape") return "shape";
  return clientId === "registered" || headers.includes("x-qwen-client-id") ? "known" : null;
}

function operationOf(route: Route, schemas: DocumentSchemas): RouteOperation {
  const { method, path, gate, needs } = route;
  const about: RouteDescription = route.about();
  const id = idWordOf(route, about);
  const body = requestBodyOf(route, about, schemas);
  const parameters = parametersOf(route, about, schemas);
  return {
    tags: [about.task],
    operationId: operationIdOf(method, path),
    summary: about.summary,
    ...(about.more !== undefined && { description: about.more }),
    ...(gate === "open" && { security: [] as const }),
    ...(needs !== null && { "x-permission": needs }),
    ...(gate === "strict" && { "x-strict": true as const }),
    ...(id !== null && { "x-client-id": id }),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== null && { requestBody: body }),
    responses: { ...answersOf(about, schemas), ...refusalAnswersOf(route, about) },
  };
}

/** As `postSessionPrompt`, and `getTokensById` where a path ends in a parameter. */
export function operationIdOf(method: string, path: string): string {
  const segments = path.split("/").slice(1);
  const words = segments.flatMap((segment, at) => {
    if (!segment.startsWith(":")) return segment.split(/[-.]/).map(capital);
    return at === segments.length - 1 ? ["By", capital(segment.slice(1))] : [];
  });
  return `${method.toLowerCase()}${words.join("")}`;
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

function parametersOf(
  { path, query, clientId }: Route,
  about: RouteDescription,
  schemas: DocumentSchemas,
): readonly Parameter[] {
  const inPath = pathParametersOf(path).map(({ name, says, example }) => {
    const schema = { type: "string" };
    return { name, in: "path" as const, required: true, description: says, schema, example };
  });
  const shape = query instanceof z.ZodObject ? Object.entries<z.ZodType>(query.shape) : [];
  const inQuery = shape.map(([name, field]) => {
    const schema = schemas.parameter(field);
    const example = about.example.query?.[name];
    const says = about.says?.[name];
    return {
      name,
      in: "query" as const,
      required: !field.safeParse(undefined).success,
      ...(says !== undefined && { description: says }),
      ...(schema.type === "array" && { style: "form", explode: false }),
      schema,
      ...(example !== undefined && { example }),
    };
  });
  const client: readonly RequestHeader[] =
    clientId === undefined || clientId === "ignored" ? [] : ["x-qwen-client-id"];
  const headers = new Set([...client, ...(about.headers ?? [])]);
  const inHeaders = [...headers].map((header) => {
    const { name, says, example } = REQUEST_HEADERS[header];
    const schema = { type: "string" };
    return { name, in: "header" as const, description: says, schema, example };
  });
  return [...inPath, ...inQuery, ...inHeaders];
}

function requestBodyOf(
  route: Route,
  about: RouteDescription,
  schemas: DocumentSchemas,
): NonNullable<RouteOperation["requestBody"]> | null {
  const schema = bodySchemaOf(route);
  if (schema === null) return null;
  const { body } = about.example;
  const described = withDescriptions(schemas.input(schema), about.says ?? {});
  return {
    required: !schema.safeParse({}).success,
    content: {
      "application/json": { schema: described, ...(body !== undefined && { example: body }) },
    },
  };
}

/** The schema of the body, if the route takes one. */
export function bodySchemaOf(route: Route): z.ZodType | null {
  if (bodyKindOf(route) !== "json") return null;
  const fields = route.gate === "open" ? undefined : route.fields;
  return fields ?? route.content ?? null;
}

/** The same with a sentence for each field that has one. */
function withDescriptions(schema: JsonObject, says: Readonly<Record<string, string>>): JsonObject {
  const { properties } = schema;
  if (typeof properties !== "object" || properties === null) return schema;
  const described = Object.entries(properties).map(([name, field]) => {
    const description = says[name];
    return [name, description === undefined ? field : { ...field, description }];
  });
  return { ...schema, properties: Object.fromEntries(described) };
}

const MEANINGS: Readonly<Record<string, string>> = {
  200: "Done",
  201: "Made",
  202: "Taken in; it has not ended yet",
  204: "Done; there is nothing to say",
  304: "The client has it already",
  503: "The server answers, and requests are refused because of what is wrong",
};

function answersOf({ answers }: RouteDescription, schemas: DocumentSchemas) {
  return Object.fromEntries(
    Object.entries(answers).map(([status, body]) => {
      const description = MEANINGS[status] ?? status;
      const content = contentOf(body, schemas);
      return [status, { description, ...(content !== null && { content }) }];
    }),
  );
}

function contentOf(body: AnswerBody, schemas: DocumentSchemas): Content | null {
  if (body === null) return null;
  const media = "media" in body ? body.media : { "application/json": body };
  return Object.fromEntries(
    Object.entries(media).map(([type, schema]) => [type, { schema: schemas.output(schema) }]),
  );
}

/** One answer for each status of a refusal, with the codes that it can have. */
function refusalAnswersOf(route: Route, { answers }: RouteDescription) {
  const statuses = [...refusalsOf(route)].filter(([status]) => !(status in answers));
  return Object.fromEntries(statuses.map(([status, codes]) => [status, refusalAnswer(codes)]));
}

/** Whether this answer is one of refusals; its description lists their codes. */
export function isRefusal({ content = {} }: Response): boolean {
  return content["application/json"]?.schema.allOf !== undefined;
}

function refusalAnswer(codes: readonly ErrorCode[]): Response {
  const schema = {
    allOf: [
      { $ref: "#/components/schemas/Error" },
      { type: "object", properties: { code: { type: "string", enum: [...codes] } } },
    ],
  };
  return { description: codes.join(", "), content: { "application/json": { schema } } };
}

/** All codes that a request of this route may be refused with, by status; not those of any. */
function refusalsOf(route: Route): ReadonlyMap<number, readonly ErrorCode[]> {
  const codes = new Set<ErrorCode>([...common(route), ...(route.about().refusals ?? [])]);
  for (const code of ANY_REQUEST) codes.delete(code);
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of [...codes].toSorted()) {
    const { status } = ERRORS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return byStatus;
}

function* common(route: Route): Generator<ErrorCode> {
  const { path, gate, needs, clientId, query } = route;
  if (gate !== "open") yield "unauthorized";
  if (gate === "strict") yield "token_required";
  if (needs !== null) yield "role_required";
  if (bodyKindOf(route) !== "none") yield* OF_BODY;
  if (query !== undefined) yield "invalid_request";
  if (clientId !== undefined && clientId !== "ignored") yield "invalid_client_id";
  if (path.startsWith("/session/:id")) yield* OF_SESSION;
}

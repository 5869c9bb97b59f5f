import type { z } from "zod";
import type { ErrorCode } from "../../core/error.ts";
import type { JsonObject } from "../../core/json.ts";

/** What callers want to do, in the order in which the routes are shown. */
export const TASKS = {
  server: "Know the server",
  begin: "Begin, join and end sessions",
  prompt: "Prompt and steer",
  follow: "Follow what happens",
  answer: "Answer what agents ask",
  find: "Find sessions",
  read: "Read a session",
  set: "Change what a session is set to",
  beside: "Work beside the turns",
  agents: "Look after agents",
  members: "Manage members and tokens",
  tenant: "Set up the tenant",
  credits: "Watch and limit what it costs",
  audit: "See who did what",
} as const;

type TaskName = keyof typeof TASKS;

/** The headers of requests that routes read. A header that is not here cannot be read. */
export const REQUEST_HEADERS = {
  "x-qwen-client-id": {
    name: "X-Qwen-Client-Id",
    says: "Who acts in a session: 1 to 128 letters, digits and . _ : -",
    example: "client_c11e0000-0000-4000-8000-000000000001",
  },
  "idempotency-key": {
    name: "Idempotency-Key",
    says: "A repeat with the same key and body gets the first answer, and does nothing twice.",
    example: "hello-1",
  },
  "last-event-id": {
    name: "Last-Event-ID",
    says: "The last event that the client has; 0 is none. Without it the stream begins now.",
    example: "0",
  },
  "x-qwen-event-epoch": {
    name: "X-Qwen-Event-Epoch",
    says: "The epoch of the log that Last-Event-ID belongs to.",
    example: "e90c0000-0000-4000-8000-000000000001",
  },
  "if-none-match": {
    name: "If-None-Match",
    says: "The ETag of the copy that the client has; 304 says that it is still good.",
    example: '"0"',
  },
} as const;

export type RequestHeader = keyof typeof REQUEST_HEADERS;

/** The body of an answer: JSON of a schema, none, or text of a media type. */
export type AnswerBody = z.ZodType | null | MediaAnswer;

/** An answer that is no JSON, or not only: for each media type the schema of what it has. */
interface MediaAnswer {
  readonly media: Readonly<Record<string, z.ZodType>>;
}

/** The statuses of answers that are no refusals; 503 is that of a server that is not healthy. */
type AnswerStatus = 200 | 201 | 202 | 204 | 304 | 503;

/** A request that a test sends. Ids in it are those of `EXAMPLE_IDS`. */
export interface RouteExample {
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Partial<Record<RequestHeader, string>>>;
  readonly body?: JsonObject;
}

/**
 * What the reference says of a route, beside what its row says: query, body, permission and client
 * id are those of the row. It is made when the reference is first read.
 */
export interface RouteDescription {
  readonly task: TaskName;
  /** What the route does, in one sentence that begins with its verb. */
  readonly summary: string;
  /** What else a caller has to know, in a few sentences. */
  readonly more?: string;
  /** What fields of the body and the query mean, where their names do not say it. */
  readonly says?: Readonly<Record<string, string>>;
  readonly headers?: readonly RequestHeader[];
  /** The first is what the example is answered with. */
  readonly answers: Readonly<Partial<Record<AnswerStatus, AnswerBody>>>;
  /** Its own refusals; those that every such route has are added in `document.ts`. */
  readonly refusals?: readonly ErrorCode[];
  readonly example: RouteExample;
}

/** The descriptions of the routes of one file. */
export type Descriptions = Readonly<Record<string, () => RouteDescription>>;

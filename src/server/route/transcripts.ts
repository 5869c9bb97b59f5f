import { z } from "zod";
import { errorBody, type Refusal, refusal } from "../../core/error.ts";
import { parseChildId, parsePromptId } from "../../core/id.ts";
import {
  CONFLICT_CHARS_MAX,
  HISTORY_TURNS_MAX,
  HISTORY_TURNS_MIN,
  STREAM_QUEUED_MAX,
  STREAM_QUEUED_MIN,
  TRANSCRIPT_TURNS_DEFAULT_MAX,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { cutText } from "../../core/text.ts";
import {
  EXPORT_FORMAT_NAMES,
  isTranscriptCursor,
  type TranscriptStart,
} from "../../session/index.ts";
import { readEventEpoch, readLastEventId } from "../../wire/sse.ts";
import type { Daemon } from "../daemon.ts";
import { type Answer, answerTo, events, file, json, refused } from "../http/answer.ts";
import { readQuery } from "../http/request-schema.ts";
import { type Route, type RouteRequest, route } from "../http/route.ts";
import { ABOUT_TRANSCRIPTS } from "./about/read.ts";
import { withKnown, withSession } from "./session-request.ts";

/** Streams the session's events from a given one, or from now on. */
export function eventsRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/events",
    about: ABOUT_TRANSCRIPTS.events,
    query: streamQuery,
    needs: "session:read",
    rate: "exempt",
    honours: ["slow_client_warning", "typed_event_schema"],
    handle: (request) =>
      withSession(daemon, request, async (session) => {
        const wanted = readStreamRequest(request);
        if (!wanted.ok) return refused(wanted.refusal);
        const { wantsSnapshot, ...from } = wanted.value;
        const { clientId } = request;
        const stream = await session.subscribe({ ...from, clientId }, wantsSnapshot);
        return answerTo(stream, (source) => events(source, source.epoch));
      }),
  });
}

/**
 * Streams the events of one child, with the numbers that they have in its parent's log. It is no
 * stream on which a client waits for the verdicts of its prompts.
 */
export function childEventsRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/children/:childId/events",
    about: ABOUT_TRANSCRIPTS.childEvents,
    query: childStreamQuery,
    needs: "session:read",
    rate: "exempt",
    honours: ["slow_client_warning", "typed_event_schema"],
    handle: (request) =>
      withSession(daemon, request, async (session) => {
        const wanted = readStreamRequest(request);
        if (!wanted.ok) return refused(wanted.refusal);
        const childId = parseChildId(request.params.childId);
        if (childId === null) {
          const shown = cutText(request.params.childId, CONFLICT_CHARS_MAX);
          return refused(refusal("child_not_found", { childId: shown }));
        }
        const { wantsSnapshot: _, ...from } = wanted.value;
        const stream = await session.subscribe({ ...from, childId }, false);
        return answerTo(stream, (source) => events(source, source.epoch));
      }),
  });
}

/** Options of a session's stream; the first three are as the bus takes them. */
export interface StreamRequest {
  readonly after: number | null;
  readonly epoch: string | null;
  readonly maxQueued?: number;
  readonly wantsSnapshot: boolean;
}

const queued = { min: STREAM_QUEUED_MIN, max: STREAM_QUEUED_MAX };

const childStreamQuery = z.object({
  /** Frames that may wait for the subscriber. */
  maxQueued: z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number)
    .pipe(z.int().min(queued.min).max(queued.max))
    .optional(),
});

const streamQuery = childStreamQuery.extend({
  /** Any other value is as none. */
  snapshot: z.literal("1").optional().catch(undefined),
});

/** Reads the options of a stream. Only a bad queue length is refused. */
export function readStreamRequest(
  request: Pick<RouteRequest, "header" | "query">,
): Result<StreamRequest> {
  const read = readQuery(streamQuery, request.query);
  if (!read.ok) return fail("invalid_max_queued", queued);
  const { maxQueued, snapshot } = read.value;
  const after = readLastEventId(request.header("last-event-id"));
  return ok({
    after,
    epoch: after === null ? null : readEventEpoch(request.header("x-qwen-event-epoch")),
    ...(maxQueued !== undefined && { maxQueued }),
    wantsSnapshot: snapshot === "1",
  });
}

const transcriptQuery = z.object({
  limit: z.string().optional(),
  cursor: z.string().optional(),
  beforeRecordId: z.string().optional(),
  direction: z.literal("backward").optional(),
});

type TranscriptQuery = z.output<typeof transcriptQuery>;

/**
 * Pages of finished turns: forward from the first, or backward from the last one or from the one
 * that the client names.
 */
export function transcriptRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/transcript",
    about: ABOUT_TRANSCRIPTS.transcript,
    query: transcriptQuery,
    needs: "session:read",
    async handle(request) {
      const wanted = pageRequestOf(request.query);
      if (!wanted.ok) return refused(wanted.refusal);
      return withKnown(daemon, request, async (known) => {
        return answerTo(await known.transcript(wanted.value), (body) => json(200, body));
      });
    },
  });
}

function pageRequestOf(query: URLSearchParams) {
  const read = readQuery(transcriptQuery, query);
  if (!read.ok) return read;
  const limit = limitOf(read.value);
  if (limit === null) return { ok: false, refusal: INVALID_LIMIT } as const;
  const start = startOf(read.value);
  return start.ok ? ok({ start: start.value, limit }) : start;
}

const INVALID_LIMIT: Refusal = refusal("invalid_transcript_limit", {
  min: HISTORY_TURNS_MIN,
  max: HISTORY_TURNS_MAX,
  maxLimit: HISTORY_TURNS_MAX,
});

function limitOf({ limit = `${TRANSCRIPT_TURNS_DEFAULT_MAX}` }: TranscriptQuery): number | null {
  const turns = /^\d+$/.test(limit) ? Number(limit) : 0;
  return turns >= HISTORY_TURNS_MIN && turns <= HISTORY_TURNS_MAX ? turns : null;
}

/** A cursor contains a position and a direction, so it excludes the other parameters. */
function startOf(query: TranscriptQuery): Result<TranscriptStart> {
  const { cursor, beforeRecordId, direction } = query;
  if (cursor !== undefined) {
    const isAlone = beforeRecordId === undefined && direction === undefined;
    // As with the limit, a request that no session can answer is refused before one is looked up.
    return isAlone && isTranscriptCursor(cursor)
      ? ok({ from: "cursor", cursor })
      : fail("invalid_transcript_cursor");
  }
  if (beforeRecordId === undefined) return ok({ from: direction ? "last" : "first" });
  const recordId = parsePromptId(beforeRecordId);
  if (recordId === null) return fail("invalid_transcript_cursor");
  return ok({ from: "before", recordId });
}

/** Nothing that a conversation quotes may run or load anything, if a browser shows it here. */
const EXPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

const exportQuery = z.object({ format: z.enum(EXPORT_FORMAT_NAMES).default("html") });

/** Exports the session as a file. */
export function exportRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/export",
    about: ABOUT_TRANSCRIPTS.export,
    query: exportQuery,
    needs: "session:read",
    handle: (request) =>
      withSession(daemon, request, async (session) => {
        const read = readQuery(exportQuery, request.query);
        if (!read.ok) return unknownFormat(request.query.get("format") ?? "");
        const { format } = read.value;
        const name = `fermata-${session.key.sessionId}`.replace(/[^A-Za-z0-9._-]/g, "_");
        const exported = await session.export(format, request.signal);
        return answerTo(exported, ({ mediaType, pieces, end }) => {
          const headers = {
            "Content-Disposition": `attachment; filename="${name}.${format}"`,
            "Content-Security-Policy": EXPORT_POLICY,
          };
          return { ...file(mediaType, pieces, headers), afterwards: () => void end() };
        });
      }),
  });
}

function unknownFormat(format: string): Answer {
  const formats = EXPORT_FORMAT_NAMES.join(", ");
  const facts = { formats, format: cutText(format, CONFLICT_CHARS_MAX) };
  const body = errorBody(refusal("invalid_export_format", facts));
  return json(400, { ...body, allowedFormats: EXPORT_FORMAT_NAMES });
}

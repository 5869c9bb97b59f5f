import { z } from "zod";
import { type Refusal, refusal } from "../../core/error.ts";
import { parsePromptId } from "../../core/id.ts";
import {
  HISTORY_TURNS_MAX,
  HISTORY_TURNS_MIN,
  TRANSCRIPT_TURNS_DEFAULT_MAX,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { type TranscriptStart, transcriptPage } from "../../session/view/transcript.ts";
import { answerTo, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { readQuery } from "../request-schema.ts";
import { type Route, route } from "../route.ts";
import { withSession } from "../session-request.ts";

const transcriptQuery = z.object({
  limit: z.string().optional(),
  cursor: z.string().optional(),
  beforeRecordId: z.string().optional(),
  direction: z.literal("backward").optional(),
});

type TranscriptQuery = z.output<typeof transcriptQuery>;

/**
 * The finished turns of a session, in pages: from the first on, or back from the last one or from
 * the one that the caller names (wire, 5).
 */
export function transcriptRoute({ world }: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/transcript",
    gate: "caller",
    needs: "session:read",
    clientId: "ignored",
    body: "json",
    handle: (request) =>
      withSession(request, async (key) => {
        const order = orderOf(request.query);
        if (!order.ok) return refused(order.refusal);
        const page = await transcriptPage(world.store, key, order.value);
        return answerTo(page, (body) => json(200, body));
      }),
  });
}

function orderOf(query: URLSearchParams) {
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
});

function limitOf({ limit = `${TRANSCRIPT_TURNS_DEFAULT_MAX}` }: TranscriptQuery): number | null {
  const turns = /^\d+$/.test(limit) ? Number(limit) : 0;
  return turns >= HISTORY_TURNS_MIN && turns <= HISTORY_TURNS_MAX ? turns : null;
}

/** A cursor is a place and a direction already, so it comes alone. */
function startOf(query: TranscriptQuery): Result<TranscriptStart> {
  const { cursor, beforeRecordId, direction } = query;
  if (cursor !== undefined) {
    const isAlone = beforeRecordId === undefined && direction === undefined;
    return isAlone ? ok({ from: "cursor", cursor }) : fail("invalid_transcript_cursor");
  }
  if (beforeRecordId === undefined) return ok({ from: direction ? "last" : "first" });
  const recordId = parsePromptId(beforeRecordId);
  if (recordId === null) return fail("invalid_transcript_cursor");
  return ok({ from: "before", recordId });
}

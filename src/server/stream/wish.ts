import { STREAM_QUEUED_MAX, STREAM_QUEUED_MIN } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { readEventEpoch, readLastEventId, readMaxQueued } from "../../wire/sse.ts";
import type { OpenRequest } from "../route.ts";

/** What a client wants of a session's stream; the first three are as the bus takes them. */
export interface StreamWish {
  readonly after: number | null;
  readonly epoch: string | null;
  readonly maxQueued?: number;
  readonly wantsSnapshot: boolean;
}

/** Reads it from the request for the stream (wire, 6.1). Only a bad queue length is refused. */
export function readStreamWish(request: Pick<OpenRequest, "header" | "query">): Result<StreamWish> {
  const range = { min: STREAM_QUEUED_MIN, max: STREAM_QUEUED_MAX };
  const maxQueued = readMaxQueued(request.query.get("maxQueued"), range);
  if (maxQueued === "invalid") return fail("invalid_max_queued", range);
  const after = readLastEventId(request.header("last-event-id"));
  return ok({
    after,
    epoch: after === null ? null : readEventEpoch(request.header("x-qwen-event-epoch")),
    ...(maxQueued === null ? {} : { maxQueued }),
    wantsSnapshot: request.query.get("snapshot") === "1",
  });
}

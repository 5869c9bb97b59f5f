import type { JsonObject } from "../core/json.ts";
import type { SessionState } from "../core/status.ts";
import { Backoff, pause } from "./backoff.ts";
import { asErrorCode, FermataError, mayComeBack } from "./fault.ts";
import type { FollowState } from "./follow.ts";
import { framesOf } from "./stream.ts";
import type { Transport } from "./transport.ts";

/** A session as the tenant's stream tells it: always the whole of it. */
export interface TenantSession {
  readonly sessionId: string;
  readonly workspaceCwd: string;
  readonly status: SessionState;
  readonly displayName: string | null;
  readonly name: string | null;
  readonly agent: string | null;
  readonly closed: boolean;
  readonly pendingPrompts: number;
  readonly updatedAtMs: number;
}

/** What a client that watches all sessions is told. */
export type WatchedChange =
  | { readonly kind: "session"; readonly session: TenantSession }
  | { readonly kind: "deleted"; readonly sessionId: string }
  /** From here on changes are told as they happen. */
  | { readonly kind: "complete" }
  /** A budget or the disk is nearly used up. */
  | { readonly kind: "warning"; readonly type: string; readonly data: JsonObject }
  | { readonly kind: "connection"; readonly state: FollowState };

/**
 * All sessions that the caller sees: first as they are, then each that changes. After a break they
 * are told again, and those that have gone meanwhile as deleted.
 */
export async function* watchSessions(
  transport: Transport,
  signal: AbortSignal,
): AsyncGenerator<WatchedChange> {
  const backoff = new Backoff();
  const known = new Set<string>();
  for (let isFirst = true; ; isFirst = false) {
    yield { kind: "connection", state: isFirst ? "connecting" : "reconnecting" };
    const missing = new Set(known);
    let laterMs: number | null = null;
    try {
      for await (const { type, data } of framesOf(transport, "/events", {}, signal)) {
        if (type === "stream_error") throw endOf(data);
        if (type === "replay_complete") {
          backoff.reset();
          for (const sessionId of missing) {
            known.delete(sessionId);
            yield { kind: "deleted", sessionId };
          }
          missing.clear();
          yield { kind: "complete" };
          yield { kind: "connection", state: "live" };
        } else if (type === "session_updated") {
          const session = asWatched(data.session);
          known.add(session.sessionId);
          missing.delete(session.sessionId);
          yield { kind: "session", session };
        } else if (type === "session_deleted") {
          const sessionId = String(data.sessionId);
          known.delete(sessionId);
          missing.delete(sessionId);
          yield { kind: "deleted", sessionId };
        } else if (type.endsWith("_warning")) {
          yield { kind: "warning", type, data };
        }
      }
    } catch (error) {
      if (signal.aborted || !mayComeBack(error)) throw error;
      laterMs = error.retryAfterMs;
    }
    await pause(backoff.nextMs(laterMs), signal);
  }
}

/** A server that stops comes back; a caller who may not read does not. */
function endOf({ errorKind, error }: JsonObject): FermataError {
  const isStop = errorKind === "daemon_shutdown";
  return new FermataError(asErrorCode(isStop ? "server_stopping" : `${errorKind}`), `${error}`);
}

function asWatched(session: unknown): TenantSession {
  return session as TenantSession;
}

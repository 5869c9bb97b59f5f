import assert from "node:assert/strict";
import { describe, expect, it } from "vitest";
import { parseSessionId, type SessionId } from "../../core/id.ts";
import { TENANT_SUBSCRIBERS_MAX, TENANT_UPDATES_WAITING_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { type Chunk, streamError } from "./frame.ts";
import { dataOf, framesOf, settled, typeOf } from "./log.fixture.ts";
import {
  type SessionPage,
  sessionUpdated,
  TenantStream,
  type TenantSubscription,
} from "./tenant-stream.ts";

const PAGE = 2;
const OWNER = { userId: null, role: "owner" } as const;

/** Sessions as a list shows them: the name of each, and how it is. */
class Sessions {
  readonly stream = new TenantStream();
  readonly #states = new Map<SessionId, string>();
  isHeld = false;
  readonly held: (() => void)[] = [];

  set(name: string, status: string) {
    this.#states.set(sessionId(name), status);
    return this;
  }

  update(name: string, status: string) {
    this.set(name, status);
    this.stream.update(summary(sessionId(name), status));
  }

  subscribe(): TenantSubscription {
    const made = this.stream.subscribe((cursor) => this.#list(cursor), OWNER);
    return made.ok ? made.value : assert.fail(made.refusal.code);
  }

  /** Reads when it is asked, and answers when it is let. */
  async #list(cursor: string | null): Promise<Result<SessionPage>> {
    const from = Number(cursor ?? 0);
    const rows = [...this.#states].slice(from, from + PAGE);
    const sessions = rows.map(([id, status]) => {
      return { sessionId: id, updated: sessionUpdated(summary(id, status)) };
    });
    const nextCursor = from + PAGE < this.#states.size ? `${from + PAGE}` : null;
    if (this.isHeld) await new Promise<void>((answer) => this.held.push(answer));
    return ok({ sessions, nextCursor });
  }
}

function sessionId(name: string): SessionId {
  return parseSessionId(name) ?? assert.fail(name);
}

function summary(id: SessionId, status: string) {
  return { sessionId: id, state: { id, status }, audience: null };
}

/** What a console hears: `name status` of sessions, and types of the other frames. */
async function heard(stream: AsyncIterator<Chunk, undefined>) {
  const { value, done } = await stream.next();
  if (done) return "over";
  return framesOf(value).map(({ text }) => {
    if (typeOf(text) !== "session_updated") return typeOf(text);
    return Object.values(dataOf(text).session ?? {}).join();
  });
}

describe("a tenant's stream", () => {
  it("begins with all sessions, page by page, and says when that is done", async () => {
    const sessions = new Sessions().set("a", "ready").set("b", "ready").set("c", "error");
    const stream = sessions.subscribe();
    expect(await heard(stream)).toEqual(["a,ready", "b,ready"]);
    expect(await heard(stream)).toEqual(["c,error", "replay_complete"]);
  });

  it("then tells of each change, to everybody", async () => {
    const sessions = new Sessions();
    const streams = [sessions.subscribe(), sessions.subscribe()];
    for (const stream of streams) expect(await heard(stream)).toEqual(["replay_complete"]);
    const next = streams.map(heard);
    sessions.update("a", "running");
    expect(await Promise.all(next)).toEqual([["a,running"], ["a,running"]]);
  });

  it("tells frames that have no id", async () => {
    const sessions = new Sessions().set("a", "ready");
    const { value } = await sessions.subscribe().next();
    expect(framesOf(value ?? []).map(({ id }) => id)).toEqual([null, null]);
  });

  it("P10: tells a slow reader of each session once, as it is then", async () => {
    const sessions = new Sessions();
    const stream = sessions.subscribe();
    await heard(stream);
    sessions.update("a", "running");
    sessions.update("b", "running");
    sessions.update("a", "ready");
    expect(await heard(stream)).toEqual(["a,ready", "b,running"]);
  });

  it("never tells an older state after a newer one, though a page is read meanwhile", async () => {
    const sessions = new Sessions().set("a", "ready").set("b", "ready");
    sessions.isHeld = true;
    const stream = sessions.subscribe();
    const next = heard(stream);
    await settled();
    sessions.update("a", "running");
    sessions.held.pop()?.();
    expect(await next).toEqual(["b,ready", "a,running", "replay_complete"]);
  });

  it("goes on with its list however often sessions change", async () => {
    const sessions = new Sessions().set("a", "ready").set("b", "ready").set("c", "ready");
    const stream = sessions.subscribe();
    sessions.update("a", "running");
    expect(await heard(stream)).toEqual(["a,running", "a,running", "b,ready"]);
    sessions.update("a", "ready");
    expect(await heard(stream)).toEqual(["a,ready", "c,ready", "replay_complete"]);
  });

  it("P10: begins again when more sessions have changed than may wait", async () => {
    const sessions = new Sessions().set("a", "ready");
    const stream = sessions.subscribe();
    await heard(stream);
    for (let n = 0; n <= TENANT_UPDATES_WAITING_MAX; n += 1) {
      sessions.stream.update(summary(sessionId(`s-${n}`), "ready"));
    }
    const last = `s-${TENANT_UPDATES_WAITING_MAX},ready`;
    expect(await heard(stream)).toEqual([last, "a,ready", "replay_complete"]);
  });

  it("P10: has so many subscribers and no more", () => {
    const sessions = new Sessions();
    const streams = Array.from({ length: TENANT_SUBSCRIBERS_MAX }, () => sessions.subscribe());
    expect(sessions.stream.subscribe(async () => fail("session_not_found"), OWNER)).toMatchObject({
      refusal: { code: "subscriber_limit_exceeded", details: { limit: TENANT_SUBSCRIBERS_MAX } },
    });
    streams[0]?.cancel();
    expect(sessions.stream.subscriberCount).toBe(TENANT_SUBSCRIBERS_MAX - 1);
  });

  it("ends with a last word, after what has changed", async () => {
    const sessions = new Sessions();
    const [busy, waiting] = [sessions.subscribe(), sessions.subscribe()];
    await heard(busy);
    await heard(waiting);
    const next = heard(waiting);
    sessions.update("a", "ready");
    expect(await next).toEqual(["a,ready"]);
    const last = heard(waiting);
    sessions.stream.end(streamError("stopped", "daemon_shutdown"));
    expect(await last).toEqual(["stream_error"]);
    expect(await heard(waiting)).toBe("over");
    expect(await heard(busy)).toEqual(["a,ready", "stream_error"]);
    expect(await heard(busy)).toBe("over");
    expect(await heard(sessions.subscribe())).toBe("over");
    expect(sessions.stream.subscriberCount).toBe(0);
  });

  it("ends with the code of a list that cannot be read", async () => {
    const made = new TenantStream().subscribe(async () => fail("store_unavailable"), OWNER);
    const stream = made.ok ? made.value : assert.fail();
    expect(await heard(stream)).toEqual(["stream_error"]);
    expect(await heard(stream)).toBe("over");
  });

  it("is left at once, even while its reader waits", async () => {
    const sessions = new Sessions();
    const stream = sessions.subscribe();
    await heard(stream);
    const next = heard(stream);
    await stream.return();
    expect(await next).toBe("over");
    expect(sessions.stream.subscriberCount).toBe(0);
  });
});

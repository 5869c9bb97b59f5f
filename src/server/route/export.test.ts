import { describe, expect, it } from "vitest";
import { EXPORT_CHUNK_CHARS, EXPORT_PROCESSES_MAX } from "../../core/limits.ts";
import { fail } from "../../core/result.ts";
import { altered } from "../../session/altered-store.fixture.ts";
import type { SessionStore } from "../../store/store.ts";
import { SessionBeside } from "./beside.fixture.ts";

/** Status and text of the export as JSON; "cut off" if it did not come to its end. */
async function exported({ world, sessionId }: SessionBeside, call: RequestInit = {}) {
  try {
    const answer = await fetch(`${world.url}/session/${sessionId}/export?format=json`, call);
    return `${answer.status} ${await answer.text()}`;
  } catch {
    return "cut off";
  }
}

describe("GET /session/:id/export", () => {
  it("is a file in each of its formats, HTML where none is named", async () => {
    const beside = await SessionBeside.open();
    await beside.turn("say hello");
    const types = {
      html: "text/html; charset=utf-8",
      md: "text/markdown; charset=utf-8",
      json: "application/json",
      jsonl: "application/x-ndjson",
    };
    for (const [format, type] of Object.entries(types)) {
      const { status, headers, text } = await beside.get(`/export?format=${format}`);
      expect([status, headers["content-type"]]).toEqual([200, type]);
      const name = `fermata-${beside.sessionId}.${format}`;
      expect(headers["content-disposition"]).toBe(`attachment; filename="${name}"`);
      expect(headers["cache-control"]).toBe("no-store");
      expect(headers["x-content-type-options"]).toBe("nosniff");
      expect(headers["content-security-policy"]).toMatch(/^default-src 'none';.* sandbox$/);
      expect(text).toContain("hello");
    }
    const { headers } = await beside.get("/export");
    expect(headers["content-type"]).toBe(types.html);
  });

  it("is refused in a format that there is not", async () => {
    const beside = await SessionBeside.open();
    for (const format of ["pdf", "", "constructor"]) {
      const { status, body } = await beside.get(`/export?format=${format}`);
      expect([status, body]).toEqual([
        400,
        {
          error: "A session is exported as html, json, jsonl, md.",
          code: "invalid_export_format",
          formats: "html, json, jsonl, md",
          format,
          allowedFormats: ["html", "json", "jsonl", "md"],
        },
      ]);
    }
  });

  it("is refused, or cut off once it has begun: no half is taken for the whole", async () => {
    let isBroken = false;
    const wrap = (store: SessionStore): SessionStore => {
      const readTurns: SessionStore["readTurns"] = async (key, range) =>
        isBroken ? fail("store_unavailable", { reason: "a test" }) : store.readTurns(key, range);
      return altered(store, { readTurns });
    };
    const beside = await SessionBeside.open({ stage: { wrap } });
    await beside.turn("say hello");
    isBroken = true;
    const refused = await beside.get("/export?format=json");
    expect([refused.status, refused.body.code]).toEqual([503, "store_unavailable"]);
    isBroken = false;
    await beside.turn(`say ${"x".repeat(2 * EXPORT_CHUNK_CHARS)}`);
    isBroken = true;
    expect(await exported(beside)).toBe("cut off");
  });

  it("P10: whose reader has left, or wants its head alone, holds no process", async () => {
    let isHeld = true;
    const held = Promise.withResolvers<void>();
    let readCount = 0;
    const wrap = (store: SessionStore): SessionStore => {
      const readTurns: SessionStore["readTurns"] = async (key, range) => {
        readCount += 1;
        if (isHeld) await held.promise;
        return store.readTurns(key, range);
      };
      return altered(store, { readTurns });
    };
    const beside = await SessionBeside.open({ stage: { wrap } });
    await beside.turn("say hello");
    readCount = 0;
    const leaving = new AbortController();
    const readers = Array.from({ length: EXPORT_PROCESSES_MAX + 2 }, () =>
      exported(beside, { signal: leaving.signal }),
    );
    await expect.poll(() => readCount).toBe(EXPORT_PROCESSES_MAX);
    leaving.abort();
    expect(new Set(await Promise.all(readers))).toEqual(new Set(["cut off"]));
    isHeld = false;
    for (let n = 0; n <= EXPORT_PROCESSES_MAX; n += 1) {
      expect(await exported(beside, { method: "HEAD" })).toBe("200 ");
    }
    expect(await exported(beside)).toContain("hello");
    held.resolve();
  });
});

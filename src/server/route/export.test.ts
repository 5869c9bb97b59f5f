import { describe, expect, it } from "vitest";
import { fail } from "../../core/result.ts";
import { altered } from "../../session/altered-store.fixture.ts";
import type { SessionStore } from "../../store/store.ts";
import { SessionBeside } from "./beside.fixture.ts";

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

  it("is cut off where it breaks, so that nobody takes the half for the whole", async () => {
    let isBroken = false;
    const wrap = (store: SessionStore): SessionStore => {
      const readTurns: SessionStore["readTurns"] = async (key, range) =>
        isBroken ? fail("store_unavailable", { reason: "a test" }) : store.readTurns(key, range);
      return altered(store, { readTurns });
    };
    const beside = await SessionBeside.open({ stage: { wrap } });
    await beside.turn("say hello");
    isBroken = true;
    await expect(beside.get("/export?format=json")).rejects.toThrow();
  });
});

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { errorBody } from "../../core/error.ts";
import type { Result } from "../../core/result.ts";
import { readBody, readQuery } from "./request-schema.ts";

const PROMPT = z.object({
  prompt: z.array(z.looseObject({ type: z.string() })).min(1, "a prompt has at least one block"),
  deadlineMs: z.int().positive().nullish(),
  mode: z.enum(["a", "b"]).optional(),
});

const errorOf = (result: Result<unknown>) => (result.ok ? null : errorBody(result.refusal));

describe("a request that is read by a schema", () => {
  it("is a value whose fields can be relied on", () => {
    const read = readBody(PROMPT, { prompt: [{ type: "text", text: "hi" }], other: 1 });
    expect(read).toEqual({ ok: true, value: { prompt: [{ type: "text", text: "hi" }] } });
  });

  it.each([
    [{}, "prompt: expected array, received undefined"],
    [{ prompt: [] }, "prompt: a prompt has at least one block"],
    [{ prompt: [{ type: 5 }] }, "prompt.0.type: expected string, received number"],
    [{ prompt: [{ type: "t" }], mode: "secret" }, 'mode: expected one of "a"|"b"'],
  ])("is refused for %j in a sentence", (body, reason) => {
    expect(errorOf(readBody(PROMPT, body))).toMatchObject({
      error: `The body is not valid at ${reason}`,
      code: "invalid_request",
    });
  });

  it("is refused with the code of its field where there is one", () => {
    const body = { prompt: [{ type: "t" }], deadlineMs: -1 };
    const read = readBody(PROMPT, body, { deadlineMs: "invalid_deadline_ms" });
    expect(errorOf(read)).toMatchObject({ code: "invalid_deadline_ms", field: "deadlineMs" });
  });

  it("may be a query, whose first values count", () => {
    const schema = z.object({
      size: z.coerce.number().int().catch(20),
      view: z.string().optional(),
    });
    expect(readQuery(schema, new URLSearchParams("size=5&size=6&view=x"))).toEqual({
      ok: true,
      value: { size: 5, view: "x" },
    });
    expect(readQuery(schema, new URLSearchParams("size=nonsense"))).toEqual({
      ok: true,
      value: { size: 20 },
    });
    expect(errorOf(readQuery(z.object({ a: z.string() }), new URLSearchParams("")))).toMatchObject({
      error: "The query is not valid at a: expected string, received undefined",
    });
  });
});

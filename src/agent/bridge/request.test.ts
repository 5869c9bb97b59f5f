import { describe, expect, it } from "vitest";
import { ERROR_MESSAGE_CHARS_MAX } from "../../core/limits.ts";
import { errorText } from "./request.ts";

const textOf = (message: string, data?: unknown) =>
  errorText({ code: -32_603, message, ...(data === undefined ? {} : { data }) }, hidden);

const hidden = (text: string) => text.replaceAll("sk-secret", "[MY_KEY]");

describe("the text of an agent's error", () => {
  it("is its message, with the cause that the data names", () => {
    expect(textOf("Bad model")).toBe("Bad model");
    expect(textOf("Bad model", { details: "no such name" })).toBe("Bad model: no such name");
    expect(textOf("Bad model", "no such name")).toBe("Bad model: no such name");
    expect(textOf("Bad model", { message: "Bad model" })).toBe("Bad model");
  });

  it("is the cause alone where the message is the one of every error", () => {
    expect(textOf("Internal error")).toBe("Internal error");
    expect(textOf("Internal error", { details: "no room" })).toBe("no room");
    expect(textOf("Internal error", { details: "" })).toBe("Internal error");
  });

  it("is what a model's server said, where the agent passes that on as it is", () => {
    const error = { message: "The engine is overloaded", type: "engine_overloaded_error" };
    expect(textOf("Internal error", { error })).toBe("The engine is overloaded");
    expect(textOf("Internal error", { error: "odd" })).toBe("Internal error");
  });

  it("P10, P11: is short, and without secrets", () => {
    expect(textOf("Internal error", { error: { message: "no sk-secret" } })).toBe("no [MY_KEY]");
    const long = textOf("Internal error", { details: "x".repeat(100_000) });
    expect(long.length).toBeLessThanOrEqual(ERROR_MESSAGE_CHARS_MAX);
  });
});

import { describe, expect, it } from "vitest";
import { PROMPT_MEDIA_BLOCKS_MAX } from "../../core/limits.ts";
import { attachmentRefusal, mediaContent, promptContent } from "./prompts.ts";

const TEXT = { type: "text", text: "look" };
const IMAGE = { type: "image", mimeType: "image/png", data: "AAAA" };

function problem(content: unknown): string | null {
  return promptContent.safeParse(content).error?.issues[0]?.message ?? null;
}

describe("the content of a prompt", () => {
  it.each([
    ["text", [TEXT]],
    ["text and an image", [TEXT, IMAGE]],
    ["an image that is here already", [{ ...IMAGE, data: undefined, attachmentId: "a", size: 3 }]],
    ["a type that nobody knows here", [{ type: "resource_link", uri: "file:///a", name: "a" }]],
  ])("may be %s", (_what, content) => {
    expect(problem(content)).toBeNull();
  });

  it("passes on what it does not know, as it came", () => {
    const block = { ...TEXT, annotations: { audience: ["user"] } };
    expect(promptContent.parse([block])).toEqual([block]);
  });

  it.each([
    ["nothing", undefined],
    ["no array", "look"],
    ["no block at all", []],
    ["a block that is no object", ["look"]],
    ["a block without a type", [{ text: "look" }]],
    ["a text without text", [{ type: "text" }]],
    ["an image of no kind", [{ ...IMAGE, mimeType: undefined }]],
    ["an image that is none", [{ ...IMAGE, mimeType: "text/plain" }]],
    ["an image that is a program", [{ ...IMAGE, mimeType: "IMAGE/svg+xml" }]],
    ["an image without data", [{ ...IMAGE, data: "" }]],
    ["an image that is no base64", [{ ...IMAGE, data: "not base64!" }]],
    ["an image in two ways at once", [{ ...IMAGE, attachmentId: "a", size: 3 }]],
    ["an attachment of no size", [{ ...IMAGE, data: undefined, attachmentId: "a", size: 0 }]],
  ])("is refused if it is %s", (_what, content) => {
    expect(problem(content)).not.toBeNull();
  });

  it("P10: has so many blocks beside text, and no more", () => {
    const images = Array.from({ length: PROMPT_MEDIA_BLOCKS_MAX }, () => IMAGE);
    expect(problem([...images, TEXT])).toBeNull();
    expect(problem([...images, IMAGE])).toContain("at most 256");
  });
});

describe("the content of a message into a turn", () => {
  it("is what comes beside its text", () => {
    expect(mediaContent.safeParse([IMAGE]).success).toBe(true);
    expect(mediaContent.safeParse([TEXT]).success).toBe(false);
    expect(mediaContent.safeParse([]).success).toBe(false);
  });
});

describe("an image by the name of an attachment", () => {
  it("is refused, since sessions have no attachments here", () => {
    const named = { type: "image", mimeType: "image/png", attachmentId: "a1", size: 3 };
    expect(attachmentRefusal([TEXT, named])).toEqual({
      code: "invalid_session_attachment_reference",
      details: { attachmentId: "a1" },
    });
    expect(attachmentRefusal([TEXT, IMAGE])).toBeNull();
  });
});

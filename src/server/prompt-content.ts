import { z } from "zod";
import type { ContentBlock } from "../core/agent-update.ts";
import { type Refusal, refusal } from "../core/error.ts";
import { type JsonObject, stringAt } from "../core/json.ts";
import { PROMPT_BLOCKS_MAX, PROMPT_MEDIA_BLOCKS_MAX } from "../core/limits.ts";
import { listOf } from "./request-schema.ts";

/** What is wrong with a block of this type, in words that follow a colon. */
type Check = (block: JsonObject) => string | null;

/** Blocks of other types are the agent's to judge: it alone knows what it can take. */
const CHECKS: ReadonlyMap<string, Check> = new Map([
  ["text", (block) => (stringAt(block, "text") === null ? "its text is missing" : null)],
  ["image", imageProblem],
]);

const block = z.looseObject({ type: z.string().min(1) }).check(({ value, issues }) => {
  const problem = CHECKS.get(value.type)?.(value) ?? null;
  if (problem !== null) issues.push({ code: "custom", input: value, message: problem });
});

const tooManyMedia = `at most ${PROMPT_MEDIA_BLOCKS_MAX} blocks may be something else than text`;

/** Blocks that came from outside, as many as there may be and each as its type wants it. */
const blocks = listOf(block, PROMPT_BLOCKS_MAX).refine(
  (all) => mediaCount(all) <= PROMPT_MEDIA_BLOCKS_MAX,
  { error: tooManyMedia },
);

/** What a prompt consists of (wire, 4.8). */
export const promptContent = blocks.refine((all) => all.length > 0, {
  error: "it needs at least one block",
});

/** What goes with a message into a running turn: pictures, beside its own text. */
export const mediaContent = promptContent.refine((all) => mediaCount(all) === all.length, {
  error: "it is for blocks beside the message's text",
});

/** Why an image that was to be here already is not. */
export function attachmentRefusal(content: readonly ContentBlock[]): Refusal | null {
  const named = content.map((one) => stringAt(one, "attachmentId")).find((id) => id !== null);
  if (named === undefined) return null;
  return refusal("invalid_session_attachment_reference", { attachmentId: named });
}

function mediaCount(content: readonly ContentBlock[]): number {
  return content.filter(({ type }) => type !== "text").length;
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** A picture comes as it is, or by the name under which it was sent before; never as a program. */
function imageProblem(image: JsonObject): string | null {
  const mimeType = stringAt(image, "mimeType")?.toLowerCase() ?? "";
  if (!/^image\/./.test(mimeType)) return "an image has a mimeType that begins with image/";
  if (mimeType.startsWith("image/svg")) return "SVG images are not supported";
  const data = stringAt(image, "data") ?? "";
  const isNamed = (stringAt(image, "attachmentId") ?? "") !== "";
  if ((data !== "") === isNamed) return "an image has either data or an attachmentId";
  if (isNamed) return isSize(image.size) ? null : "an attachment has a size above zero";
  return BASE64.test(data) ? null : "an image's data is base64";
}

function isSize(size: unknown): boolean {
  return typeof size === "number" && Number.isSafeInteger(size) && size > 0;
}

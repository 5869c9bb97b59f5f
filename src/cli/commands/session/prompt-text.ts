import { PROMPT_INPUT_BYTES_MAX } from "../../../core/limits.ts";
import { CommandFailure } from "../../failure.ts";
import { EXIT } from "../../table/exit-codes.ts";

/**
 * The words of a prompt. "-" is the input, alone or after words of the prompt; without any word a
 * pipe is read, and a terminal is not: it would look as if the command hung.
 */
export async function promptText(words: readonly string[]): Promise<string> {
  const isPiped = !process.stdin.isTTY;
  const [first] = words;
  if (first === undefined && !isPiped) throw usage('expected a prompt, or "-" to read it');
  const parts = first === undefined ? ["-"] : words;
  const texts = await Promise.all(parts.map((part) => (part === "-" ? inputText() : part)));
  const text = texts.join(parts.includes("-") ? "\n\n" : " ").trim();
  if (text === "") throw usage("the prompt is empty");
  return text;
}

async function inputText(): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    bytes += chunk.length;
    if (bytes > PROMPT_INPUT_BYTES_MAX) {
      throw usage(`the input has more than ${PROMPT_INPUT_BYTES_MAX} bytes`);
    }
    chunks.push(chunk);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw usage("the input is not UTF-8; convert it, as with iconv -t utf-8");
  }
}

function usage(reason: string): CommandFailure {
  return new CommandFailure(EXIT.usage, reason);
}

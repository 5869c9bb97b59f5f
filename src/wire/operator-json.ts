import { faultOf } from "./json-fault.ts";

type ParsedJson =
  | { readonly value: unknown; readonly fault?: undefined }
  | { readonly value?: undefined; readonly fault: string };

/**
 * The value of a file that an operator has written, or a clause that says where the text is wrong.
 * The errors of `JSON.parse` do not always say that, and repeat the text, which may hold a secret.
 */
export function parseJson(text: string): ParsedJson {
  if (text.trim() === "") return { fault: "it is empty; write {} into it" };
  try {
    return { value: JSON.parse(text) };
  } catch {
    const found = faultOf(text);
    if (found === null) return { fault: "it is not JSON" };
    const { line, column, reason } = found;
    return { fault: `it is not JSON: line ${line}, column ${column}: ${reason}` };
  }
}

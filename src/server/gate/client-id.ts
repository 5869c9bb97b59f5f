import { type ClientId, parseClientId } from "../../core/id.ts";
import { type Answer, json } from "../answer.ts";
import type { ClientIdRule } from "../route.ts";

/**
 * The same code as for an id that a session does not know, but not the same sentence: this one
 * was never looked for (wire, 3.2).
 */
const MALFORMED = json(400, {
  error: "X-Qwen-Client-Id has 1 to 128 letters, digits and the characters . _ : -",
  code: "invalid_client_id",
});

export type ClientIdReading =
  | { readonly kind: "read"; readonly clientId: ClientId | null }
  | { readonly kind: "refused"; readonly answer: Answer };

/** An absent or empty header is an anonymous client. */
export function readClientId(header: string | null, rule: ClientIdRule): ClientIdReading {
  const clientId = header === null ? null : parseClientId(header);
  const isMalformed = header !== null && header !== "" && clientId === null;
  if (isMalformed && rule !== "ignored") return { kind: "refused", answer: MALFORMED };
  return { kind: "read", clientId };
}

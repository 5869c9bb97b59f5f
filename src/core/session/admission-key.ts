/** Idempotency keys are their caller's own: nobody is answered with another's prompt. */
export function admissionKey(voter: string | null, key: string): string {
  return JSON.stringify([voter, key]);
}

/** As what a message into a turn is admitted, if it has to wait as a prompt of its own. */
export function steeredAs(messageId: string) {
  return { key: `${STEERED}${messageId}`, hash: NO_BODY };
}

/** The message that was admitted so; null if it was a prompt from the beginning. */
export function steeredMessage(name: string, hash: string): string | null {
  if (hash !== NO_BODY) return null;
  const [, key]: readonly unknown[] = JSON.parse(name);
  return typeof key === "string" && key.startsWith(STEERED) ? key.slice(STEERED.length) : null;
}

const STEERED = "steer ";

/** What a client sends always has a hash, so this one is ours. */
const NO_BODY = "";

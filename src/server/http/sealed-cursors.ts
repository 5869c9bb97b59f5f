import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Longer than any position is. All cursors have one length, which tells nothing either. */
const POSITION_CHARS = 48;

/**
 * Cursors that clients can send back and neither read nor make. A position among all that a tenant
 * has would count what its reader does not see (P8). They are good for as long as the server runs.
 */
export class SealedCursors {
  readonly #key = randomBytes(32);

  /** The same position is the same cursor, so a client can compare pages. */
  seal(position: string): string {
    const padded = position.padEnd(POSITION_CHARS);
    const iv = createHmac("sha256", this.#key).update(padded).digest().subarray(0, IV_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.#key, iv, { authTagLength: TAG_BYTES });
    const sealed = Buffer.concat([cipher.update(padded, "utf8"), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString("base64url");
  }

  /** Null if this server has not made it. */
  open(cursor: string): string | null {
    const bytes = Buffer.from(cursor, "base64url");
    if (bytes.length !== IV_BYTES + TAG_BYTES + POSITION_CHARS) return null;
    const iv = bytes.subarray(0, IV_BYTES);
    const options = { authTagLength: TAG_BYTES };
    const decipher = createDecipheriv("aes-256-gcm", this.#key, iv, options);
    decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    try {
      const position = decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES));
      return Buffer.concat([position, decipher.final()]).toString("utf8").trimEnd();
    } catch {
      return null;
    }
  }
}

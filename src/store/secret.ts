import {
  LEAK_PATH_CHARS_MAX,
  LEAK_PATHS_MAX,
  SECRET_CHARS_MAX,
  SECRET_CHARS_MIN,
  SECRETS_KNOWN_MAX,
} from "../core/limits.ts";
import { DONE, type Result } from "../core/result.ts";
import { cutText } from "../core/text.ts";
import { invalid } from "./check.ts";
import { SecretBeginnings } from "./secret-beginnings.ts";
import { SecretFilter, type SecretPatterns, secretPatterns } from "./secret-filter.ts";
import {
  formsOf,
  mergeSpans,
  type SecretSpelling,
  type SecretSpellings,
  type Span,
  spellingsOf,
} from "./secret-spelling.ts";

/** What is nested deeper than this in a text that has a secret is hidden whole. */
const DEPTH_MAX = 128;

const REDACTED = "[redacted]";

/**
 * Knows the secret values that Fermata has resolved, and finds them again (P11). Code that
 * resolves a secret calls `know` before it uses the value, and `forget` when no agent has it.
 */
export class SecretGuard {
  readonly #known = new Map<string, KnownSecret>();
  /** Null if a secret has come or gone since they were made. */
  #filter: SecretFilter | null = null;
  #beginnings: SecretBeginnings | null = null;

  /** A value that is refused here must not be used: nothing would keep it off the disk. */
  know(secret: string): Result<void> {
    if (typeof secret !== "string") return invalid("secret", "it is not a text");
    // Our own mark is no secret, and could never be hidden behind itself.
    if (secret.length < SECRET_CHARS_MIN || REDACTED.includes(secret)) return DONE;
    if (secret.length > SECRET_CHARS_MAX) {
      return invalid("secret", `it has more than ${SECRET_CHARS_MAX} characters`);
    }
    const known = this.#known.get(secret);
    if (known !== undefined) known.times += 1;
    else if (this.#known.size >= SECRETS_KNOWN_MAX) {
      return invalid("secret", `${SECRETS_KNOWN_MAX} others are known already`);
    } else {
      this.#known.set(secret, { spellings: spellingsOf(secret), times: 1 });
      this.#changed();
    }
    return DONE;
  }

  /** Takes back one `know`: the value stays a secret until each `know` is taken back. */
  forget(secret: string) {
    const known = this.#known.get(secret);
    if (known === undefined) return;
    known.times -= 1;
    if (known.times > 0) return;
    this.#known.delete(secret);
    this.#changed();
  }

  /** For a thread that looks through texts which are there already: it never misses a secret. */
  get patterns(): SecretPatterns {
    return secretPatterns([...this.#known.values()].map(({ spellings }) => spellings));
  }

  #changed() {
    this.#filter = null;
    this.#beginnings = null;
  }

  /**
   * A text without its secrets; the very same text if it has none, so that `!==` tells. JSON stays
   * JSON: only its strings change, and numbers that are a secret as a whole.
   */
  redact(text: string): string {
    return this.#mayHold(text) ? this.#redactFound(text) : text;
  }

  /**
   * How many characters at the end of a text begin a secret that the next text may go on with. A
   * secret that is there whole counts if it begins a longer one; no whole one is cut in two.
   */
  openTail(text: string): number {
    if (this.#known.size === 0) return 0;
    this.#beginnings ??= new SecretBeginnings([...this.#known.keys()].flatMap(formsOf));
    let open = this.#beginnings.openFrom(text);
    if (open === text.length) return 0;
    for (const { from, to } of this.#spansIn(text)) {
      if (from < open && open < to) open = this.#beginnings.openFrom(text, to);
    }
    return text.length - open;
  }

  /** Where a secret ends that begins before this position and ends behind it; null if none does. */
  endAcross(text: string, position: number): number | null {
    const across = this.#spansIn(text).find(({ from, to }) => from < position && to > position);
    return across?.to ?? null;
  }

  /** The paths in a value under which a secret stands; of many only the first ones. */
  leaks(value: unknown, path = ""): readonly string[] {
    if (this.#known.size === 0) return [];
    const paths: string[] = [];
    const seen = new Set<object>();
    const places: NestedValue[] = [{ value, name: path, above: null }];
    for (const place of places) {
      if (this.#isLeak(place)) paths.push(this.#pathOf(place));
      if (paths.length === LEAK_PATHS_MAX) break;
      addInner(places, place, seen);
    }
    return paths;
  }

  /** The hot path: for all but the largest lists one test, and nothing is made. */
  #mayHold(text: string): boolean {
    if (this.#known.size === 0) return false;
    this.#filter ??= new SecretFilter(this.patterns);
    return this.#filter.mayHold(text);
  }

  #spellingsOfAll(): readonly SecretSpelling[] {
    return [...this.#known.values()].flatMap(({ spellings: { plain, base64 } }) => {
      return [plain, ...base64];
    });
  }

  #redactFound(text: string): string {
    const parsed = parseJson(text);
    if (parsed === undefined) return this.#hide(text);
    const clean = this.#hideIn(parsed, 0);
    return clean === parsed ? text : JSON.stringify(clean);
  }

  /** The same value without its secrets; the very same if it has none. */
  #hideIn(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.#hide(value);
    if (typeof value === "number") return this.#known.has(String(value)) ? REDACTED : value;
    if (typeof value !== "object" || value === null) return value;
    if (depth > DEPTH_MAX) return REDACTED;
    if (Array.isArray(value)) {
      const clean = value.map((inner) => this.#hideIn(inner, depth + 1));
      return clean.some((inner, index) => inner !== value[index]) ? clean : value;
    }
    const before = Object.entries(value);
    const clean = before.map(([key, inner]): [string, unknown] => [
      this.#hide(key),
      this.#hideIn(inner, depth + 1),
    ]);
    const isSame = before.every(
      ([key, inner], at) => key === clean[at]?.[0] && inner === clean[at]?.[1],
    );
    return isSame ? value : Object.fromEntries(clean);
  }

  /** A text that is only text, with a mark in the place of each secret. */
  #hide(text: string): string {
    let clean = "";
    let at = 0;
    for (const { from, to } of this.#spansIn(text)) {
      clean += text.slice(at, from) + REDACTED;
      at = to;
    }
    return at === 0 ? text : clean + text.slice(at);
  }

  /** Where secrets stand in a text, in order. */
  #spansIn(text: string): readonly Span[] {
    if (!this.#mayHold(text)) return [];
    return mergeSpans(this.#spellingsOfAll().flatMap((spelling) => spelling.places(text)));
  }

  /** The first name is the caller's, for us to say where; all others go to the disk. */
  #isLeak({ value, name, above }: NestedValue): boolean {
    if (above !== null && this.#holds(name)) return true;
    if (typeof value === "string") return this.#holds(value);
    if (typeof value === "number") return this.#known.has(String(value));
    return ArrayBuffer.isView(value) && this.#holds(bytesOf(value).toString());
  }

  #holds(text: string): boolean {
    if (!this.#mayHold(text)) return false;
    return this.#spellingsOfAll().some((spelling) => spelling.isIn(text));
  }

  /** Names may have a secret in them, alone or together; a path never shows it. */
  #pathOf(place: NestedValue): string {
    const names: string[] = [];
    for (let at: NestedValue | null = place; at !== null; at = at.above) {
      if (at.name !== "") names.push(at.name);
    }
    return cutText(this.#hide(names.reverse().join(".")), LEAK_PATH_CHARS_MAX);
  }
}

interface KnownSecret {
  readonly spellings: SecretSpellings;
  /** How often it was told. */
  times: number;
}

/** A value on the way to the disk, and where it stands. */
interface NestedValue {
  readonly value: unknown;
  readonly name: string;
  readonly above: NestedValue | null;
}

/** Once is enough for what stands in many places, itself among them. */
function addInner(places: NestedValue[], place: NestedValue, seen: Set<object>) {
  const { value } = place;
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return;
  if (seen.has(value)) return;
  seen.add(value);
  for (const [name, inner] of Object.entries(value)) {
    places.push({ value: inner, name, above: place });
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Undefined, which no JSON is, if it is none. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// A session store in one file, to read before you write your own (docs/stores.md). Every change is
// one line of a journal; the state is the journal, played again into memory. It survives crashes,
// and several processes may share it. It is small, not quick: the journal never shrinks, every
// start plays all of it, and every change waits for the disk by itself.

import { createHash } from "node:crypto";
import { mkdir, open, readFile, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  fail,
  failpoint,
  isGone,
  isThisProcess,
  ok,
  readHolder,
  StoreSurface,
  storeContract,
  textOption,
  thisHolder,
} from "fermata/store";
import { MemoryBackend } from "fermata/store/memory";

const OPTIONS = { path: textOption(true) };
const COMMIT_BYTES_MAX = 1024 * 1024;

/** What `fermata serve --store ./journal-store.js` calls, and what the kit calls. */
export default function journalStore() {
  const contract = storeContract("example-journal", OPTIONS, COMMIT_BYTES_MAX);
  return new StoreSurface(contract, OPTIONS, journalBackend());
}

/** The steps of a write at which the crash runner may kill this process. */
export const FAILPOINTS = ["journal-before-write", "journal-amid-write", "journal-after-write"];

const READS = [
  ...["readRecord", "readManifest", "readEvents", "readTurns", "readMessages", "readSlots"],
  ...["list", "tenants", "readJournal", "readDocuments", "readBlob"],
];
const WRITES = [
  ...["create", "acquire", "commit", "cutLog", "release", "remove", "removeTenant"],
  ...["appendJournal", "writeDocument", "writeBlob"],
];

/**
 * The surface has checked every argument. What is left: put the change on the disk, whole, and
 * only then answer.
 */
function journalBackend() {
  const journal = new Journal();
  /** @typedef {unknown[]} Args */
  const calls = [
    ...READS.map((name) => [name, (/** @type {Args} */ ...args) => journal.read(name, args)]),
    ...WRITES.map((name) => [name, (/** @type {Args} */ ...args) => journal.write(name, args)]),
  ];
  return {
    ...Object.fromEntries(calls),
    open: async (/** @type {Readonly<Record<string, unknown>>} */ config) =>
      journal.start(String(config.path)),
    shut: () => journal.end(),
    explain: (/** @type {unknown} */ thrown) => {
      const reason = thrown instanceof Error ? thrown.message : String(thrown);
      return fail("store_unavailable", { reason });
    },
  };
}

class Journal {
  #folder = "";
  #memory = new MemoryBackend();
  /** How many bytes of the file are in memory. */
  #played = 0;
  /** What this process has opened through this store, to give it up at the end. */
  #claims = new Map();
  /** One call at a time, in the order in which they came. */
  #last = Promise.resolve();

  /**
   * Proves that it can write: it takes the lock, and makes the file if there is none.
   * @param {string} folder
   */
  async start(folder) {
    this.#folder = folder;
    this.#forget();
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return this.#inTurn(() =>
      this.#locked(async () => {
        if ((await stat(this.#file).catch(() => null)) === null) {
          // Under its name it is whole: an empty journal is one that has lost everything.
          await writeFile(`${this.#file}.new`, HEADER, { mode: 0o600, flush: true });
          await rename(`${this.#file}.new`, this.#file);
        }
        await this.#catchUp();
        return ok(undefined);
      }),
    );
  }

  async end() {
    const claims = [...this.#claims.values()];
    this.#claims.clear();
    for (const { key, term } of claims) await this.write("release", [key, term]);
    await this.#last;
    this.#forget();
  }

  /**
   * The caller may change its values as soon as it has made the call: so they are copied.
   * @param {string} name
   * @param {unknown[]} args
   */
  read(name, args) {
    const copies = structuredClone(args);
    return this.#inTurn(async () => {
      await this.#catchUp();
      return this.#call(name, copies);
    });
  }

  /**
   * Here the text of the line is the copy.
   * @param {string} name
   * @param {unknown[]} args
   */
  write(name, args) {
    const text = encode([name, ...args]);
    return this.#inTurn(() =>
      this.#locked(async () => {
        await this.#catchUp();
        // A crash has left half a line, and only the owner of the lock may cut it off.
        if ((await stat(this.#file)).size > this.#played) await truncate(this.#file, this.#played);
        const [, ...copies] = decode(text);
        const answer = await this.#call(name, copies);
        // What is refused has changed nothing, so nothing is written.
        if (answer.ok) await this.#append(lineOf(text));
        if (answer.ok) this.#noteClaim(name, copies, answer.value);
        return answer;
      }),
    );
  }

  /**
   * What the surface has checked, or the journal has kept, under the name of an operation.
   * @param {string} name
   * @param {unknown[]} args
   */
  #call(name, args) {
    return Reflect.apply(Reflect.get(this.#memory, name), this.#memory, args);
  }

  get #file() {
    return join(this.#folder, "journal.jsonl");
  }

  /** @param {string} line */
  async #append(line) {
    try {
      failpoint("journal-before-write");
      const file = await open(this.#file, "a", 0o600);
      try {
        const bytes = Buffer.from(line);
        const half = Math.floor(bytes.length / 2);
        await file.write(bytes.subarray(0, half));
        failpoint("journal-amid-write");
        await file.write(bytes.subarray(half));
        await file.sync();
      } finally {
        await file.close();
      }
      failpoint("journal-after-write");
      this.#played += Buffer.byteLength(line);
    } catch (thrown) {
      // Memory has what the disk may not have. The next call plays the journal anew.
      this.#forget();
      throw thrown;
    }
  }

  /** Plays the lines that other stores over this file have added. */
  async #catchUp() {
    const { size } = await stat(this.#file);
    if (size === this.#played && size > 0) return;
    const bytes = await readFile(this.#file);
    // The last line may be half written: by a crash, or by another process at this moment.
    const end = bytes.lastIndexOf("\n") + 1;
    const lines = bytes.subarray(this.#played, end).toString().split("\n").slice(0, -1);
    if (this.#played === 0 && `${lines.shift()}\n` !== HEADER) throw new Error("it is no journal");
    for (const line of lines) await this.#play(line);
    this.#played = end;
  }

  /** @param {string} line */
  async #play(line) {
    const text = line.slice(SUM_CHARS + 1);
    if (lineOf(text) !== `${line}\n`) throw new Error("a line of the journal is damaged");
    const [name, ...args] = decode(text);
    // Whether a holder was gone was decided then; it may not look the same from here.
    if (name === "acquire" || name === "remove") args[1].seizes = true;
    if (name === "removeTenant") await this.#releaseAll(args[0]);
    const answer = await this.#call(name, args);
    if (!answer.ok) throw new Error(`the journal cannot be played: ${answer.refusal.code}`);
  }

  /** @param {import("fermata/store").SessionKey["tenantId"]} tenantId */
  async #releaseAll(tenantId) {
    const all = { limit: Number.MAX_SAFE_INTEGER, after: null };
    const listed = await this.#memory.list(tenantId, {}, all);
    if (!listed.ok) throw new Error(`the journal cannot be played: ${listed.refusal.code}`);
    for (const { sessionId, term } of listed.value.sessions) {
      await this.#memory.release({ tenantId, sessionId }, term);
    }
  }

  /**
   * @param {string} name
   * @param {[object, { holder: import("fermata/store").Holder }]} args
   * @param {{ term: number }} made
   */
  #noteClaim(name, [key, given], made) {
    if (name !== "create" && name !== "acquire") return;
    if (isThisProcess(given.holder))
      this.#claims.set(JSON.stringify(key), { key, term: made.term });
  }

  #forget() {
    this.#memory = new MemoryBackend();
    this.#played = 0;
  }

  /**
   * @template Value
   * @param {() => Promise<Value>} act
   */
  #inTurn(act) {
    const result = this.#last.then(act);
    this.#last = result.then(
      () => {},
      () => {},
    );
    return result;
  }

  /**
   * @template Value
   * @param {() => Promise<Value>} act
   */
  async #locked(act) {
    const path = join(this.#folder, "journal.lock");
    await takeLock(path);
    try {
      return await act();
    } finally {
      await rm(path, { force: true });
    }
  }
}

const LOCK_MS_MAX = 10_000;
/** No process needs as long to write its name into a lock that it has made. */
const NAMELESS_MS_MAX = 1_000;

/**
 * A lock whose process is gone is taken over. Two that do so in one moment could both get it.
 * @param {string} path
 */
async function takeLock(path) {
  for (const until = Date.now() + LOCK_MS_MAX; Date.now() < until; ) {
    try {
      const file = await open(path, "wx", 0o600);
      await file.write(JSON.stringify(thisHolder("lock")));
      return await file.close();
    } catch (thrown) {
      if (!(thrown instanceof Error && "code" in thrown && thrown.code === "EEXIST")) throw thrown;
    }
    if (await isLeft(path)) await rm(path, { force: true });
    else await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error(`another process holds ${path}`);
}

/** @param {string} path */
async function isLeft(path) {
  const holder = readHolder(await readFile(path, "utf8").catch(() => ""));
  if (holder !== null) return isGone(holder);
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
  return Date.now() - mtimeMs > NAMELESS_MS_MAX;
}

const HEADER = '{"journal":"example-journal","version":1}\n';
const SUM_CHARS = 16;

/**
 * A line begins with the checksum of its text, so that a flipped bit is noticed.
 * @param {string} text
 */
function lineOf(text) {
  const sum = createHash("sha256").update(text).digest("hex").slice(0, SUM_CHARS);
  return `${sum} ${text}\n`;
}

/**
 * JSON with bytes in it. None of these values has free-form objects, so the name is safe.
 * @param {unknown} value
 */
function encode(value) {
  return JSON.stringify(value, function (name, inner) {
    const own = this[name];
    return own instanceof Uint8Array ? { $bytes: Buffer.from(own).toString("base64") } : inner;
  });
}

/** @param {string} text */
function decode(text) {
  return JSON.parse(text, (_, inner) =>
    typeof inner?.$bytes === "string"
      ? Uint8Array.from(Buffer.from(inner.$bytes, "base64"))
      : inner,
  );
}

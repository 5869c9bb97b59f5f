import { randomUUID } from "node:crypto";
import { access, readdir } from "node:fs/promises";
import { parseTenantId, type TenantId } from "../../core/id.ts";
import {
  COMMIT_BYTES_MAX,
  PAST_STEPS_AT_ONCE_MAX,
  STORE_CALLS_ALONE_MAX,
  STORE_READ_ALONE_MS_MAX,
} from "../../core/limits.ts";
import { DONE, ok, type Result } from "../../core/result.ts";
import { idOfCaseSafe } from "../../platform/case-safe.ts";
import { Semaphore } from "../../platform/semaphore.ts";
import { threadScript } from "../../platform/thread-script.ts";
import type { Backend } from "../backend.ts";
import { type Holder, thisHolder } from "../holder.ts";
import { type OptionRules, storeContract, textOption } from "../lifecycle.ts";
import type { StoreSteps } from "../operation.ts";
import type * as S from "../store.ts";
import { StoreSurface } from "../surface.ts";
import { type Offered, remote } from "./calls.ts";
import { databaseFile, tenantsFolder } from "./database.ts";
import { explain } from "./fault.ts";
import { isRead, READS } from "./read.ts";
import type { ReaderData, ReaderOps } from "./reader.ts";
import { STORE_ID } from "./row.ts";
import { Thread } from "./thread.ts";
import { WRITES } from "./write.ts";
import type { WriterData, WriterOps } from "./writer.ts";

const OPTIONS: OptionRules = {
  path: textOption(true),
  durability: textOption(false, /^(?:full|relaxed)$/),
};

/**
 * The default store: one database for each tenant under one directory. One thread writes, with
 * everything that waits in one transaction; another reads, from when there is work for two. The
 * event loop never waits for a disk.
 */
export function sqliteStore(
  snapshotBytesLimit: number = COMMIT_BYTES_MAX,
  steps: StoreSteps = {},
): S.SessionStore {
  const contract = storeContract(STORE_ID, OPTIONS, snapshotBytesLimit, true);
  return new StoreSurface(contract, OPTIONS, sqliteBackend(), steps);
}

/** Every operation of the threads' tables, and what is more than a call to one thread. */
function sqliteBackend(): Backend {
  const threads = new StoreThreads();
  return {
    // The caller may change its values as soon as it has made the call: so they are copied.
    ...remote(WRITES, (op, args) => threads.writer.send(op, structuredClone(args))),
    ...remote(READS, (op, args) => threads.reading.send(op, args)),
    open: (config, host) => threads.open(config, host),
    shut: () => threads.shut(),
    explain,
    create: (key, { holder, manifest, record, epoch, commit }) => {
      const copied = structuredClone({ holder, manifest, record });
      const own = { ...copied, epoch, commit: copyCommit(commit) };
      return threads.writer.call("create", { ...key }, own);
    },
    commit: (key, term, commit) =>
      threads.writer.call("commit", { ...key }, term, copyCommit(commit)),
    copyPast: (key, term, step, secrets) => {
      const [to, what] = structuredClone([key, step] as const);
      // Steps that came together would share a transaction, and hold up all others together.
      return threads.copying.run(() => threads.writer.call("copyPast", to, term, what, secrets));
    },
    writeBlob: (tenantId, hash, bytes) =>
      threads.writer.call("writeBlob", tenantId, hash, Uint8Array.from(bytes)),
    list: (tenantId, filter, range) =>
      threads.reading.call("list", tenantId, structuredClone(filter), range),
    tenants: () => tenantsIn(threads.root),
    check: () => threads.check(),
    removeTenant: (tenantId, holder) => threads.removeTenant(tenantId, holder),
  };
}

/** The threads of an open store: one, and a second one once there is work for two. */
class StoreThreads {
  readonly copying = new Semaphore(PAST_STEPS_AT_ONCE_MAX);
  root = "";
  #host: S.StoreHost | null = null;
  #writer: Thread<WriterOps> | null = null;
  #reader: Thread<ReaderOps> | null = null;

  /** The surface turns a throw into a refusal, and does not let it come to this. */
  get writer(): Thread<WriterOps> {
    if (this.#writer === null) throw new Error("it is closed");
    return this.#writer;
  }

  /**
   * The thread that is to read now. A thread costs as much as the rest of a small server, so there
   * is none for reads until one of them would wait for much else, or has held up the commits behind
   * it; nor does a read that need not wait for much else wait for the start of a thread.
   */
  get reading(): Pick<Thread<Offered<typeof READS>>, "call" | "send"> {
    const { writer } = this;
    if (this.#reader?.isUp) return this.#reader;
    const isCrowded = writer.openCalls > STORE_CALLS_ALONE_MAX;
    if (!isCrowded && writer.longestReadMs <= STORE_READ_ALONE_MS_MAX) return writer;
    this.#reader ??= this.#startReader();
    return isCrowded ? this.#reader : writer;
  }

  async open(config: Readonly<Record<string, unknown>>, host: S.StoreHost): Promise<Result<void>> {
    const root = String(config.path);
    const durability = config.durability === "relaxed" ? "relaxed" : "full";
    const writing: WriterData = { root, durability, opener: thisHolder(randomUUID()) };
    this.root = root;
    this.#host = host;
    this.#writer = new Thread(threadScript("writer", import.meta.url), writing, {
      // Opening a session brings its slots along.
      isHeavy: (op) => op === "acquire" || isRead(op),
      // The outcome of a lost write is unknown, so only its maker may repeat it.
      isRepeatable: isRead,
      hasEnded: tells(host, "writer"),
    });
    const probed = await this.writer.call("probe").catch(explain);
    if (!probed.ok) await this.shut();
    return probed;
  }

  #startReader(): Thread<ReaderOps> {
    const data: ReaderData = { root: this.root };
    return new Thread(threadScript("reader", import.meta.url), data, {
      isHeavy: () => true,
      isRepeatable: () => true,
      hasEnded: tells(this.#host, "reader"),
    });
  }

  async shut(): Promise<void> {
    const writer = this.#writer;
    const reader = this.#reader;
    this.#writer = null;
    this.#reader = null;
    // The last to leave puts the log away, and only the writer can.
    await reader?.end();
    await writer?.end();
  }

  /** What either thread has found; both may have met the same damage. */
  async check(): Promise<Result<readonly S.StoreFault[]>> {
    const [written, read] = await Promise.all([
      this.writer.call("check"),
      this.#reader?.call("check") ?? ok([]),
    ]);
    if (!written.ok) return written;
    if (!read.ok) return read;
    const named = new Set(written.value.map(({ tenantId }) => tenantId));
    return ok([...written.value, ...read.value.filter(({ tenantId }) => !named.has(tenantId))]);
  }

  async removeTenant(tenantId: TenantId, holder: Holder): Promise<Result<void>> {
    const removed = await this.writer.call("removeTenant", tenantId, { ...holder });
    if (!removed.ok) return removed;
    // The reader must not miss what is gone. A reading thread that has ended has nothing to forget.
    await this.#reader?.call("forget", tenantId).catch(() => DONE);
    // Until now the reader had to be able to tell that the tenant was removed.
    await this.writer.call("clearRemoved").catch(() => DONE);
    return removed;
  }
}

async function tenantsIn(root: string): Promise<Result<readonly TenantId[]>> {
  const names = await readdir(tenantsFolder(root));
  const ids = names
    .map((name) => parseTenantId(idOfCaseSafe(name) ?? ""))
    .filter((id) => id !== null);
  const there = await Promise.all(ids.map((id) => exists(databaseFile(root, id))));
  return ok(ids.filter((_, index) => there[index]).sort());
}

/**
 * The caller may change its values as soon as it has made the call, and the thread copies them a
 * little later. Texts cannot change, so only what holds them is copied.
 */
function copyCommit(commit: S.Commit): S.Commit {
  const { afterEventId, events, record, snapshot, journal } = commit;
  return {
    afterEventId,
    events: [...events],
    journal: journal.map((entry) => ({ ...entry })),
    ...(record && { record: { ...record } }),
    ...(snapshot && { snapshot: copySnapshot(snapshot) }),
  };
}

/** The texts of a large turn are not copied here: that would hold all other requests. */
function copySnapshot({ manifest, messages, slots, turn, ...rest }: S.Snapshot): S.Snapshot {
  return {
    ...rest,
    removedSlots: [...rest.removedSlots],
    manifest: structuredClone(manifest),
    messages: [...messages],
    slots: slots.map((slot) => ({ ...slot, payload: new Uint8Array(slot.payload) })),
    ...(turn && { turn: { ...turn } }),
  };
}

async function exists(file: string): Promise<boolean> {
  try {
    await access(file);
    return true;
  } catch {
    return false;
  }
}

function tells(host: S.StoreHost | null, thread: "writer" | "reader"): (why: Error) => void {
  return (why) => host?.audit({ act: `${thread}_thread_ended`, details: { reason: why.message } });
}

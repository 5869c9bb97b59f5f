import { SECRET_FILES_MAX, SECRET_SCAN_MS, SECRETS_REPLACED_MAX } from "../../core/limits.ts";
import type { Result } from "../../core/result.ts";
import type { SecretFile, SecretFiles } from "./secret-files.ts";

/** What a watch does with what it finds. */
interface SecretWatchOptions {
  readonly files: SecretFiles;
  /** Keeps a value off the disk. A refused value is given to no agent either. */
  know(value: string): Result<void>;
  /** A known value is in its file no more. */
  retire(value: string): void;
  /** A file that cannot be used, or that all users of the machine may read. */
  warn(path: string, reason: string): void;
}

/**
 * Keeps the guard informed of all secrets of a folder: before the first request, and whenever one
 * changes. A value that was replaced, or whose file has vanished, is retired. It looks at
 * intervals: notifications of the system do not come from every mount.
 */
export class SecretWatch {
  readonly #options: SecretWatchOptions;
  readonly #values = new Map<string, string>();
  /** The warnings that were given, by path, so that each is given once. */
  #warned = new Map<string, string>();
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> | null = null;

  constructor(options: SecretWatchOptions) {
    this.#options = options;
  }

  /** Looks for the first time, and from then on at intervals. False if there are too many. */
  async start(): Promise<boolean> {
    const isComplete = await this.look();
    const again = () => {
      this.#looking ??= this.look().then(
        () => {
          this.#looking = null;
        },
        () => {
          this.#looking = null;
        },
      );
    };
    this.#timer = setInterval(again, SECRET_SCAN_MS);
    this.#timer.unref();
    return isComplete;
  }

  /** Learns what is new. False if there are too many files to know them all. */
  async look(): Promise<boolean> {
    const files = await this.#options.files.all();
    const warned = new Map<string, string>();
    if (files === null) this.#warn(warned, ".", `it has more than ${SECRET_FILES_MAX} files`);
    else this.#retireVanished(files);
    for (const file of files ?? []) this.#learn(file, warned);
    this.#warned = warned;
    return files !== null;
  }

  async end(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#looking;
  }

  #learn(file: SecretFile, warned: Map<string, string>) {
    const { path } = file;
    if (file.kind === "unusable") return this.#warn(warned, path, file.reason);
    if (file.isExposed) this.#warn(warned, path, "every user of this machine may read it");
    const before = this.#values.get(path);
    if (before === file.value) return;
    const known = this.#options.know(file.value);
    if (!known.ok) return this.#warn(warned, path, String(known.refusal.details.reason ?? ""));
    this.#values.set(path, file.value);
    if (before !== undefined) this.#options.retire(before);
  }

  #retireVanished(files: readonly SecretFile[]) {
    const paths = new Set(files.map(({ path }) => path));
    for (const [path, value] of this.#values) {
      if (paths.has(path)) continue;
      this.#values.delete(path);
      this.#options.retire(value);
    }
  }

  #warn(warned: Map<string, string>, path: string, reason: string) {
    warned.set(path, reason);
    if (this.#warned.get(path) !== reason) this.#options.warn(path, reason);
  }
}

/**
 * Secrets that no file and no agent has any more. They stay known for a while, because the last
 * words of an agent are still on their way, and people may repeat them. The oldest is forgotten
 * when there are too many, so that the guard keeps its headroom.
 */
export class RetiredSecrets {
  /** In the order in which they retired. Each stands for one `know`. */
  readonly #values = new Set<string>();
  readonly #forget: (value: string) => void;

  /** `forget` takes one `know` back. */
  constructor(forget: (value: string) => void) {
    this.#forget = forget;
  }

  /** The caller hands over one `know` of this value. */
  add(value: string) {
    if (this.#values.delete(value)) this.#forget(value);
    this.#values.add(value);
    const [oldest] = this.#values;
    if (this.#values.size <= SECRETS_REPLACED_MAX || oldest === undefined) return;
    this.#values.delete(oldest);
    this.#forget(oldest);
  }
}

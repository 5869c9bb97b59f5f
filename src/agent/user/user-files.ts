import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { z } from "zod";
import {
  ACCOUNT_LOOKUP_MS_MAX,
  USER_FILES_ATTEMPTS_MAX,
  USER_FILES_CALLS_MAX,
  USER_FILES_LINE_BYTES_MAX,
  USER_FILES_STEP_MS_MAX,
  USER_MARKS_MS_MAX,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { Semaphore } from "../../platform/semaphore.ts";
import { LineSplitter, OVERLONG } from "../../wire/rpc.ts";
import { addMarkReader, type ReadMark } from "../process/mark-readers.ts";
import type {
  FileAudit,
  FileRequest,
  ReadRequest,
  WorkspaceFiles,
  WriteRequest,
} from "../workspace/files.ts";
import { OwnFolders } from "../workspace/location.ts";
import type { AccessFault, FileIdentity, OwnFiles, WorkspaceAccess } from "./access.ts";
import type { SystemUser } from "./account.ts";
import { type UserAnswer, type UserRequest, userAnswer, userValues } from "./protocol.ts";

type Call = Exclude<UserRequest, { do: "recorded" }>;
interface CallOptions {
  /** For refusals. */
  readonly path: string;
  readonly audit?: FileAudit;
  readonly timeoutMs?: number;
}

/** `Omit` of each member of the union. */
type WithoutId<Member> = Member extends unknown ? Omit<Member, "id"> : never;

/**
 * The files of workspaces with the rights of an account, by a process of that user. The process
 * starts on first use, and again after it has ended: agents of the same user can end it.
 */
export class UserFiles implements WorkspaceFiles {
  readonly account: SystemUser;
  readonly #calls = new Semaphore(USER_FILES_CALLS_MAX);
  #process: Promise<UserProcess | null> | null = null;
  readonly #removeReader: () => void;
  #lastId = 0;
  #isClosed = false;

  constructor(account: SystemUser) {
    this.account = account;
    const read = (pids: readonly number[]) => this.#marksOf(pids);
    this.#removeReader = addMarkReader({ uid: account.uid, read });
  }

  async realPathOf(request: FileRequest, to: "read" | "write"): Promise<Result<string>> {
    const call = { do: "locate" as const, ...fileOf(request), to };
    return this.#call(call, userValues().locate, { path: request.path });
  }

  async read(request: ReadRequest, audit: FileAudit): Promise<Result<{ content: string }>> {
    const { line, limit } = request;
    const call = { do: "read" as const, ...fileOf(request), line, limit };
    return this.#call(call, userValues().read, { path: request.path, audit });
  }

  async write(request: WriteRequest, audit: FileAudit): Promise<Result<void>> {
    const call = { do: "write" as const, ...fileOf(request), content: request.content };
    return this.#call(call, userValues().write, { path: request.path, audit });
  }

  /** What is wrong with the home of the account; null if nothing is. */
  homeFault(home: string): Promise<Result<AccessFault | null>> {
    return this.#call({ do: "check_home", home }, userValues().check_home, { path: home });
  }

  workspaceAccess(workspace: string): Promise<Result<WorkspaceAccess>> {
    const call = { do: "check_workspace" as const, workspace };
    return this.#call(call, userValues().check_workspace, { path: workspace });
  }

  /** What of the server's own files the account can read or change. */
  exposureFault({ secret, loaded, owner }: OwnFiles): Promise<Result<AccessFault | null>> {
    const call = { do: "check_own" as const, secret: [...secret], loaded: [...loaded], owner };
    return this.#call(call, userValues().check_own, { path: secret[0] ?? "/" });
  }

  /** Removes all that is in a folder, as far as the account may. */
  empty(folder: string): Promise<Result<void>> {
    return this.#call({ do: "empty", folder }, userValues().empty, { path: folder });
  }

  /** Which file the account reads at a real path; null if it may not. */
  identify(path: string): Promise<Result<FileIdentity | null>> {
    return this.#call({ do: "identify", path }, userValues().identify, { path });
  }

  /** The marks in the environments of this user's processes. */
  async #marksOf(pids: readonly number[]): Promise<ReadonlyMap<number, ReadMark> | null> {
    const call = { do: "marks" as const, pids: [...pids] };
    const timeoutMs = USER_MARKS_MS_MAX;
    const read = await this.#call(call, userValues().marks, { path: "/proc", timeoutMs });
    if (!read.ok) return null;
    return new Map(read.value.map(({ pid, ...mark }) => [pid, mark]));
  }

  async close(): Promise<void> {
    this.#removeReader();
    this.#isClosed = true;
    await (await this.#process)?.end();
  }

  async #call<Value>(
    call: WithoutId<Call>,
    values: z.ZodType<Value>,
    { path, audit = recordsNothing, timeoutMs = USER_FILES_STEP_MS_MAX }: CallOptions,
  ): Promise<Result<Value>> {
    const run = async (): Promise<Result<Value>> => {
      const answer = await this.#answerTo(call, audit, timeoutMs);
      if (answer === "ended") {
        return unavailable(path, `the process that runs as ${this.account.name} has ended`);
      }
      if ("refusal" in answer) return { ok: false, refusal: answer.refusal };
      const value = values.safeParse(answer.value);
      return value.success ? ok(value.data) : unavailable(path, "its answer is none");
    };
    // Processes are ended also while many files wait for their audit.
    return call.do === "marks" ? run() : this.#calls.run(run);
  }

  /** Tries again if the process ends before it has done anything. */
  async #answerTo(
    call: WithoutId<Call>,
    audit: FileAudit,
    timeoutMs: number,
  ): Promise<UserOutcome | "ended"> {
    const once = recordedOnce(audit);
    for (let attempt = 1; attempt <= USER_FILES_ATTEMPTS_MAX; attempt += 1) {
      const running = await this.#running();
      if (running === null) return "ended";
      this.#lastId += 1;
      const answer = await running.call({ ...call, id: this.#lastId }, once, timeoutMs);
      if (answer !== "untouched") return answer;
    }
    return "ended";
  }

  async #running(): Promise<UserProcess | null> {
    const seen = this.#process;
    const running = await seen;
    if (this.#isClosed) return null;
    if (running?.isAlive) return running;
    // Another call may have started it while this one waited.
    if (this.#process === seen) this.#process = UserProcess.start(this.account);
    return this.#process;
  }
}

function fileOf({ workspace, path, permitted, own = OwnFolders.NONE }: FileRequest) {
  const { closed, readable, open } = own.paths;
  const paths = { closed: [...closed], readable: [...readable], open: [...open] };
  return { workspace, path, own: paths, ...(permitted === undefined ? {} : { permitted }) };
}

async function recordsNothing(): Promise<void> {}

/** A retry after the process has ended in mid-audit goes on with the entry that is there. */
function recordedOnce(audit: FileAudit): FileAudit {
  const entries = new Map<string, Promise<void>>();
  return (act, details) => {
    const entry = JSON.stringify([act, details]);
    const recorded = entries.get(entry) ?? audit(act, details);
    entries.set(entry, recorded);
    return recorded;
  };
}

function unavailable(path: string, reason: string): Result<never> {
  return fail("file_unavailable", { path, reason });
}

type UserOutcome = Extract<UserAnswer, { value: unknown } | { refusal: unknown }>;

/** The process has ended: after it may have acted, or before. */
type Ended = "ended" | "untouched";

interface UserCall {
  readonly audit: FileAudit;
  readonly settle: (outcome: UserOutcome | Ended) => void;
  timer: NodeJS.Timeout;
  /** It was about to act, so that it may have acted. */
  hasBegun: boolean;
}

/** One process of the account. */
class UserProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines = new LineSplitter(USER_FILES_LINE_BYTES_MAX);
  readonly #open = new Map<number, UserCall>();
  readonly #ready = Promise.withResolvers<boolean>();
  readonly #gone = Promise.withResolvers<void>();
  #isAlive = true;

  /** Null if it cannot be started, or cannot become the user. */
  static async start(account: SystemUser): Promise<UserProcess | null> {
    const started = new UserProcess(account);
    const late = setTimeout(() => started.#kill(), ACCOUNT_LOOKUP_MS_MAX);
    const isReady = await started.#ready.promise;
    clearTimeout(late);
    return isReady ? started : null;
  }

  private constructor({ uid, gid }: SystemUser) {
    const args = [fileURLToPath(PROGRAM), String(uid), String(gid)];
    this.#child = spawn(process.execPath, args, {
      cwd: "/",
      env: {},
      detached: true,
      stdio: ["pipe", "pipe", "ignore"],
    });
    const over = () => this.#over();
    const gone = () => {
      over();
      this.#gone.resolve();
    };
    this.#child.on("error", gone).on("exit", gone);
    if (this.#child.pid === undefined) return; // It has no pipes if descriptors ran out.
    this.#child.stdin.on("error", over);
    this.#child.stdout.on("error", over).on("data", (chunk: Buffer) => {
      for (const line of this.#lines.feed(chunk)) this.#receive(line);
    });
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** A process that does not answer in time is ended. */
  call(call: Call, audit: FileAudit, timeoutMs: number): Promise<UserOutcome | Ended> {
    const { promise, resolve: settle } = Promise.withResolvers<UserOutcome | Ended>();
    const timer = this.#timer(timeoutMs);
    this.#open.set(call.id, { audit, settle, timer, hasBegun: false });
    this.#send(call);
    return promise;
  }

  /** It ends with its input, or else is killed. */
  async end(): Promise<void> {
    this.#child.stdin.end();
    const late = setTimeout(() => this.#kill(), ACCOUNT_LOOKUP_MS_MAX);
    await this.#gone.promise;
    clearTimeout(late);
  }

  #send(request: UserRequest) {
    if (this.#isAlive) this.#child.stdin.write(`${JSON.stringify(request)}\n`);
    else this.#over();
  }

  #receive(line: string | typeof OVERLONG) {
    const answer = line === OVERLONG ? null : parsed(line);
    if (answer === null) return this.#kill();
    if ("ready" in answer) return this.#ready.resolve(true);
    const open = this.#open.get(answer.id);
    if (open === undefined) return;
    clearTimeout(open.timer);
    if ("record" in answer) return void this.#record(answer.id, open, answer.record);
    this.#open.delete(answer.id);
    open.settle(answer);
  }

  /** An audit that does not answer in time counts as one that failed. */
  async #record(
    id: number,
    open: UserCall,
    { act, details }: { readonly act: string; readonly details: Parameters<FileAudit>[1] },
  ): Promise<void> {
    const late = Promise.withResolvers<boolean>();
    const timer = setTimeout(late.resolve, USER_FILES_STEP_MS_MAX, false);
    const recorded = open.audit(act, details).then(
      () => true,
      () => false,
    );
    const isRecorded = await Promise.race([recorded, late.promise]);
    clearTimeout(timer);
    if (!this.#open.has(id)) return;
    open.hasBegun = true;
    open.timer = this.#timer(USER_FILES_STEP_MS_MAX);
    this.#send({ do: "recorded", id, isRecorded });
  }

  #timer(timeoutMs: number): NodeJS.Timeout {
    return setTimeout(() => this.#kill(), timeoutMs);
  }

  /** One that never started has no number: what has the number in its place is a stranger. */
  #kill() {
    if (this.#child.pid !== undefined) this.#child.kill("SIGKILL");
  }

  #over() {
    this.#isAlive = false;
    this.#kill();
    if (this.#child.pid !== undefined) this.#child.stdout.destroy();
    this.#ready.resolve(false);
    for (const { timer, settle, hasBegun } of this.#open.values()) {
      clearTimeout(timer);
      settle(hasBegun ? "ended" : "untouched");
    }
    this.#open.clear();
  }
}

/** Development runs the sources, the package its compiled copy. */
const PROGRAM = new URL(`main${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

function parsed(line: string): UserAnswer | null {
  try {
    const answer = userAnswer().safeParse(JSON.parse(line));
    return answer.success ? answer.data : null;
  } catch {
    return null;
  }
}

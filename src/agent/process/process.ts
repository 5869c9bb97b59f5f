import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { randomUUID } from "node:crypto";
import { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import {
  AGENT_END_MS_MAX,
  AGENT_LAST_WORDS_MS_MAX,
  AGENT_SWEEP_MS_MAX,
  AGENT_TERMINATE_MS_MAX,
  AGENT_WORK_LOOK_MS,
  AGENT_WORK_PERCENT_MIN,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { AgentExit } from "../../core/session/event.ts";
import type { AgentCredentials } from "../credential/credentials.ts";
import type { WireTap } from "../keeper.ts";
import type { AgentProfile } from "../profile/profile.ts";
import { causeOf } from "../system-error.ts";
import type { WorkspaceFiles } from "../workspace/files.ts";
import type { OwnFolders } from "../workspace/location.ts";
import { type AgentEnvironment, environmentOf } from "./environment.ts";
import { ErrorOutput, Redactor } from "./error-output.ts";
import { type AgentMark, type AgentMarks, treeOf } from "./marks.ts";
import { processorMs, residentBytes } from "./process-table.ts";
import {
  type KnownProcess,
  killTrees,
  livingMembers,
  livingMembersOf,
  type ProcessTree,
} from "./process-tree.ts";
import { checkDirectory, commandOf, type Spawned, spawnAgent } from "./spawn.ts";

export interface ProcessOptions {
  readonly profile: AgentProfile;
  /** Its working directory, unless the profile has one. */
  readonly cwd: string;
  readonly marks: AgentMarks;
  /** The server's environment; the profile says what the agent gets of it. */
  readonly env: NodeJS.ProcessEnv;
  /** The keys and home of the session's user. */
  readonly credentials?: AgentCredentials;
  /** The server's own folders, which stay closed to the agent. */
  readonly own?: OwnFolders;
  /** Real paths of folders that are open to it beside its workspaces. */
  readonly roots?: readonly string[];
  /** Uses files for the agent, with the rights of its user. */
  readonly files?: WorkspaceFiles;
  /** Takes its lines for traces. */
  readonly tap?: WireTap;
}

/**
 * An agent's process, with all that it starts. However it ends, its whole process tree ends with
 * it, and its mark is removed last: after a crash of the server at any moment there is a mark for
 * everything that may still be alive (P5).
 */
export class AgentProcess {
  readonly pid: number;
  /** In the environment of all its processes, also of those that the server starts for it. */
  readonly marker: string;
  /** The names of its environment variables that are not empty. */
  readonly variables: ReadonlySet<string>;
  /** Variables that the profile refers to and the server does not have. */
  readonly missing: readonly string[];
  readonly stdin: Writable;
  /** Removes the secrets of its environment from a text. */
  readonly redactor: Redactor;
  /** Read by the connection. After an exit the rest can still be read. */
  readonly stdout: Readable;
  readonly errorOutput: ErrorOutput;
  /** Resolves when no process of it is left and `errorOutput` is complete. Never rejects. */
  readonly exited: Promise<AgentExit>;

  readonly #child: ChildProcessWithoutNullStreams;
  readonly #exit = Promise.withResolvers<AgentExit>();
  readonly #marks: AgentMarks;
  readonly #mark: Promise<AgentMark>;
  readonly #seen = new Map<number, KnownProcess>();
  #isOver = false;
  #ending: Promise<AgentExit> | null = null;

  static async start(options: ProcessOptions): Promise<Result<AgentProcess>> {
    const { profile, cwd, marks, env, credentials } = options;
    const marker = randomUUID();
    const environment = environmentOf(profile, env, marker, credentials);
    const directory = await checkDirectory(profile.cwd ?? cwd);
    if (!directory.ok) return directory;
    const path = await commandOf(profile, environment.env);
    if (!path.ok) return path;
    const mark = await recorded(marks, marker, profile.name);
    if (!mark.ok) return mark;
    const start = { cwd: directory.value, env: environment.env };
    const spawned = await spawnAgent(profile, path.value, start);
    if (spawned.ok) return ok(new AgentProcess(spawned.value, environment, marks, mark.value));
    await marks.remove(mark.value).catch(ignored);
    return spawned;
  }

  private constructor(
    { child, pid }: Spawned,
    environment: AgentEnvironment,
    marks: AgentMarks,
    mark: AgentMark,
  ) {
    this.pid = pid;
    this.marker = mark.marker;
    this.variables = new Set(Object.keys(environment.env).filter((name) => environment.env[name]));
    this.missing = environment.missing;
    this.stdin = child.stdin;
    this.stdout = child.stdout;
    this.#child = child;
    this.redactor = new Redactor(environment.secrets);
    this.errorOutput = new ErrorOutput(environment.secrets);
    this.#marks = marks;
    child.stderr.on("data", (bytes: Buffer) => this.errorOutput.push(bytes));
    // Users of a pipe listen too; this only keeps a broken pipe from ending the server.
    for (const each of [child, child.stdin, child.stdout, child.stderr]) each.on("error", ignored);
    child.once("exit", (exitCode, signalCode) => {
      // At once: until now its pid, which is the group's, was not free for another process.
      this.#signal("SIGKILL");
      this.#isOver = true;
      this.#exit.resolve({ exitCode, signalCode });
    });
    // If this fails, the first version of the mark has to do, and almost always does.
    this.#mark = marks.confirm(mark, pid).catch(() => mark);
    this.exited = this.#cleanUp();
  }

  /** The memory of the whole process tree of each; null where the system does not say. */
  static async memoryOf(
    processes: readonly AgentProcess[],
  ): Promise<readonly (number | null)[] | null> {
    const trees = await Promise.all(processes.map((one) => one.#tree()));
    const living = await livingMembersOf(trees);
    return living && Promise.all(living.map((each) => residentBytes(each.map(({ pid }) => pid))));
  }

  /** Watches for a moment whether it writes or uses the processor. */
  async isWorking(): Promise<boolean> {
    const before = await this.#effort();
    await pause(AGENT_WORK_LOOK_MS);
    if (this.#isOver) return false;
    const after = await this.#effort();
    const usedMs = after.processorMs - before.processorMs;
    const isBusy = usedMs * 100 >= AGENT_WORK_LOOK_MS * AGENT_WORK_PERCENT_MIN;
    return isBusy || after.bytes > before.bytes;
  }

  async #effort() {
    const living = await livingMembers(await this.#tree());
    const used = await processorMs((living ?? []).map(({ pid }) => pid));
    const bytes = this.errorOutput.totalBytes + this.#stdoutBytes();
    return { processorMs: used ?? 0, bytes };
  }

  /** Only the connection may read the pipe, but the pipe counts its bytes. */
  #stdoutBytes(): number {
    return this.#child.stdout instanceof Socket ? this.#child.stdout.bytesRead : 0;
  }

  /** Ends it: by the end of its input, else by SIGTERM, else by SIGKILL. Always the same end. */
  end(): Promise<AgentExit> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  /** Ends it by SIGKILL, also while `end` is waiting. */
  async kill(): Promise<AgentExit> {
    await this.#signalTree("SIGKILL");
    return this.end();
  }

  async #end(): Promise<AgentExit> {
    const exit = this.#exit.promise;
    await this.#rememberTree();
    this.stdin.end();
    if (!(await within(exit, AGENT_END_MS_MAX))) await this.#signalTree("SIGTERM");
    if (!(await within(exit, AGENT_TERMINATE_MS_MAX))) await this.#signalTree("SIGKILL");
    // A process that hangs inside the system cannot be killed, and must not hold up the server.
    if (!(await within(exit, AGENT_SWEEP_MS_MAX))) {
      this.#exit.resolve({ exitCode: null, signalCode: "SIGKILL" });
    }
    await this.exited;
    await drain(this.stdout);
    return exit;
  }

  async #signalTree(signal: NodeJS.Signals) {
    await this.#rememberTree();
    this.#signal(signal);
  }

  /** While it lives the system shows its children; of orphans only the mark tells. */
  async #rememberTree() {
    const living = this.#isOver ? null : await livingMembers(await this.#tree());
    for (const member of living ?? []) this.#seen.set(member.pid, member);
  }

  /** After the exit: kills what is left, reads the error output to its end, removes the mark. */
  async #cleanUp(): Promise<AgentExit> {
    const exit = await this.#exit.promise;
    const { cleared } = await killTrees([await this.#tree()]);
    await drain(this.#child.stderr);
    this.stdin.destroy();
    // The mark of what could not be killed stays, for the next start.
    if (cleared.length > 0) await this.#marks.remove(await this.#mark).catch(ignored);
    return exit;
  }

  async #tree(): Promise<ProcessTree> {
    const seen = [...this.#seen.values()];
    return { ...treeOf(await this.#mark), seen, mayStillStart: false };
  }

  #signal(signal: NodeJS.Signals) {
    if (this.#isOver) return;
    try {
      process.kill(-this.pid, signal);
    } catch {
      // The group is empty.
    }
  }
}

async function recorded(
  marks: AgentMarks,
  marker: string,
  profile: string,
): Promise<Result<AgentMark>> {
  try {
    return ok(await marks.record(marker, profile));
  } catch (thrown) {
    const reason = `its mark cannot be written (${causeOf(thrown)})`;
    return fail("agent_capacity", { reason });
  }
}

/** Waits until the rest is read: the pipe has no writer any more. */
async function drain(pipe: Readable) {
  const closed = new Promise((resolve) => pipe.once("close", resolve));
  if (!pipe.closed) await within(closed, AGENT_LAST_WORDS_MS_MAX);
  pipe.destroy();
}

function ignored() {}

/** Whether the promise resolves in time. It must not reject. */
export async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, ms, false);
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { randomUUID } from "node:crypto";
import { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { AGENT_END_MS_MAX, AGENT_LAST_WORDS_MS_MAX, AGENT_SWEEP_MS_MAX, AGENT_TERMINATE_MS_MAX, AGENT_WORK_LOOK_MS, AGENT_WORK_PERCENT_MIN } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { AgentExit } from "../../core/session/event.ts";
import type { AgentProfile } from "../profile/profile.ts";
import { causeOf } from "../system-error.ts";
import type { WireTap } from "../keeper.ts";
import type { OwnFolders } from "../workspace/location.ts";
import { processorMs, residentBytes } from "./process-table.ts";
import { type AgentEnvironment, environmentOf } from "./environment.ts";
import { LastWords, Redactor } from "./error-output.ts";
import { endMarked, familyOf, type KnownProcess, type Marked } from "./process-tree";
import { type AgentMark, type AgentMarks, markedBy } from "./marks.ts";
import { checkDirectory, commandOf, type Spawned, spawnAgent } from "./spawn.ts";

export interface AgentStart {
  readonly profile: AgentProfile;
  /** Where it runs, unless the profile says where. */
  readonly cwd: string;
  readonly marks: AgentMarks;
  /** The server's environment, of which the profile tells what the agent gets. */
  readonly env: NodeJS.ProcessEnv;
  /** What of the server's stays closed to it. */
  readonly own?: OwnFolders;
  /** Where its lines go, for whoever wants to read them. */
  readonly tap?: WireTap;
}

/**
 * An agent's process, with all that it starts. However it ends, by itself or because it is told
 * to, its whole family ends with it and its mark goes last: a crash of the server at any moment
 * leaves a mark for everything that may still be alive (P5).
 */
export class AgentProcess {
  readonly pid: number;
  /** Carried by it and all that it starts. What we start on its behalf should carry it too. */
  readonly marker: string;
  /** The names of the variables that it was given, but for empty ones. */
  readonly variables: ReadonlySet<string>;
  /** Variables that the profile refers to and the server does not have. */
  readonly missing: readonly string[];
  readonly stdin: Writable;
  /** Makes its words fit to be shown and kept: without the secrets of its environment. */
  readonly redactor: Redactor;
  /** As it comes; nobody here reads it. After an exit what is left in it can still be read. */
  readonly stdout: Readable;
  /** When it has ended, nothing of it is left, and `said` is complete. Never rejects. */
  readonly exited: Promise<AgentExit>;

  readonly #child: ChildProcessWithoutNullStreams;
  readonly #words: LastWords;
  readonly #exit = Promise.withResolvers<AgentExit>();
  readonly #marks: AgentMarks;
  readonly #mark: Promise<AgentMark>;
  readonly #seen = new Map<number, KnownProcess>();
  #isOver = false;
  #ending: Promise<AgentExit> | null = null;

  static async start({ profile, cwd, marks, env }: AgentStart): Promise<Result<AgentProcess>> {
    const marker = randomUUID();
    const environment = environmentOf(profile, env, marker);
    const directory = await checkDirectory(profile.cwd ?? cwd);
    if (!directory.ok) return directory;
    const path = await commandOf(profile, environment.env);
    if (!path.ok) return path;
    const mark = await recorded(marks, marker, profile.name);
    if (!mark.ok) return mark;
    const options = { cwd: directory.value, env: environment.env };
    const spawned = await spawnAgent(profile, path.value, options);
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
    this.#words = new LastWords(environment.secrets);
    this.#marks = marks;
    child.stderr.on("data", (bytes: Buffer) => this.#words.hear(bytes));
    // Who uses a pipe listens itself; this only keeps a broken one from ending the server.
    for (const each of [child, child.stdin, child.stdout, child.stderr]) each.on("error", ignored);
    child.once("exit", (exitCode, signalCode) => {
      // At once: until this moment its pid, which is the group's, was not free for others.
      this.#signal("SIGKILL");
      this.#isOver = true;
      this.#exit.resolve({ exitCode, signalCode });
    });
    // Without this second note the mark alone has to do, and almost always does.
    this.#mark = marks.confirm(mark, pid).catch(() => mark);
    this.exited = this.#bury();
  }

  /** The end of what it wrote to its error output, fit to be shown to people. */
  get said(): string {
    return this.#words.said();
  }

  /** How much it has written to its error output. */
  get saidBytes(): number {
    return this.#words.heardBytes;
  }

  /** The same as `said`, of what it has written since it had written so much. */
  saidSince(bytes: number): string {
    return this.#words.said(bytes);
  }

  /** All that is kept of its error output, fit to be shown to people. */
  get log(): string {
    return this.#words.all();
  }

  /** What it and all that it started have in memory; null where the system does not say. */
  async memoryBytes(): Promise<number | null> {
    const family = await familyOf(await this.#marked());
    return family && residentBytes(family.map(({ pid }) => pid));
  }

  /** Looks for a moment whether it does anything: it writes, or it uses the processor. */
  async isAtWork(): Promise<boolean> {
    const before = await this.#effort();
    await pause(AGENT_WORK_LOOK_MS);
    if (this.#isOver) return false;
    const after = await this.#effort();
    const usedMs = after.processorMs - before.processorMs;
    const isBusy = usedMs * 100 >= AGENT_WORK_LOOK_MS * AGENT_WORK_PERCENT_MIN;
    return isBusy || after.bytes > before.bytes;
  }

  async #effort() {
    const family = await familyOf(await this.#marked());
    const used = await processorMs((family ?? []).map(({ pid }) => pid));
    const bytes = this.#words.heardBytes + this.#stdoutBytes();
    return { processorMs: used ?? 0, bytes };
  }

  /** Nobody else may listen to it, and its pipe counts by itself. */
  #stdoutBytes(): number {
    return this.#child.stdout instanceof Socket ? this.#child.stdout.bytesRead : 0;
  }

  /** Ends it: by the end of its input, else by asking, else by force. Always the same end. */
  end(): Promise<AgentExit> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  /** Ends it without asking, even if somebody is still asking. */
  async kill(): Promise<AgentExit> {
    await this.#strike("SIGKILL");
    return this.end();
  }

  async #end(): Promise<AgentExit> {
    const exit = this.#exit.promise;
    await this.#lookAround();
    this.stdin.end();
    if (!(await within(exit, AGENT_END_MS_MAX))) await this.#strike("SIGTERM");
    if (!(await within(exit, AGENT_TERMINATE_MS_MAX))) await this.#strike("SIGKILL");
    // A process that hangs inside the system cannot be killed; nobody waits for it for ever.
    if (!(await within(exit, AGENT_SWEEP_MS_MAX))) {
      this.#exit.resolve({ exitCode: null, signalCode: "SIGKILL" });
    }
    await this.exited;
    await hearOut(this.stdout);
    return exit;
  }

  async #strike(signal: NodeJS.Signals) {
    await this.#lookAround();
    this.#signal(signal);
  }

  /** While it lives it can be seen who its children are; of orphans only the mark tells. */
  async #lookAround() {
    const family = this.#isOver ? null : await familyOf(await this.#marked());
    for (const member of family ?? []) this.#seen.set(member.pid, member);
  }

  /** After the exit: ends what it has left behind, hears it out, and takes the mark away. */
  async #bury(): Promise<AgentExit> {
    const exit = await this.#exit.promise;
    const { cleared } = await endMarked([await this.#marked()]);
    await hearOut(this.#child.stderr);
    this.stdin.destroy();
    // Of what could not be ended the mark stays, for the next start.
    if (cleared.length > 0) await this.#marks.remove(await this.#mark).catch(ignored);
    return exit;
  }

  async #marked(): Promise<Marked> {
    const seen = [...this.#seen.values()];
    return { ...markedBy(await this.#mark), seen, mayStillStart: false };
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

/** Nobody writes to it any more, so that whoever reads it comes to its end soon. */
async function hearOut(pipe: Readable) {
  const closed = new Promise((resolve) => pipe.once("close", resolve));
  if (!pipe.closed) await within(closed, AGENT_LAST_WORDS_MS_MAX);
  pipe.destroy();
}

function ignored() {}

/** Whether a promise was kept in time. It is expected not to be broken. */
export async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, ms, false);
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { type AgentProfile, profileOf } from "../profile/profile.ts";
import { AgentMarks } from "./marks.ts";
import { AgentProcess } from "./process.ts";

/** One test's folder, and a way to see every process that it has ever brought about. */
export class World {
  readonly folder = mkdtempSync(join(tmpdir(), "fermata-agent-"));
  readonly marksFolder = join(this.folder, "marks");
  readonly marks = new AgentMarks(this.marksFolder);
  readonly #id = randomUUID();
  /** What its processes carry, so that none of them is lost even if a test fails. */
  readonly env = { PATH: process.env.PATH, FERMATA_TEST_WORLD: this.#id };

  constructor() {
    onTestFinished(() => {
      // Reached with something alive only by a test that has failed already.
      for (const pid of this.alive()) process.kill(pid, "SIGKILL");
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  /** The fixture, behaving in one of its ways. */
  profile(behaviour: string, ...args: readonly string[]): AgentProfile {
    const script = fileURLToPath(new URL("agent.fixture.ts", import.meta.url));
    return this.profileOf(process.execPath, [script, behaviour, ...args]);
  }

  profileOf(command: string, args: readonly string[] = []): AgentProfile {
    return profileOf({ name: "test", command, args, env: { FERMATA_TEST_WORLD: this.#id } });
  }

  start(profile: AgentProfile, env: NodeJS.ProcessEnv = { PATH: process.env.PATH }) {
    return AgentProcess.start({ profile, cwd: this.folder, marks: this.marks, env });
  }

  async started(profile: AgentProfile, env?: NodeJS.ProcessEnv): Promise<AgentProcess> {
    const result = await this.start(profile, env);
    if (!result.ok) expect.fail(JSON.stringify(result.refusal));
    return result.value;
  }

  /** A server in a process of its own, which dies at that moment, or when it is killed. */
  server(moment: string): ServerProcess {
    return new ServerProcess([moment, this.marksFolder, this.#id]);
  }

  async dyingServer(moment: string): Promise<void> {
    const server = this.server(moment);
    expect(await server.ended).toBe("SIGKILL");
  }

  /** Everything that carries this world's own variable, without asking the code under test. */
  alive(): readonly number[] {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .filter((name) => environmentOf(name).includes(`FERMATA_TEST_WORLD=${this.#id}`))
      .map(Number);
  }

  markFiles(): readonly string[] {
    try {
      return readdirSync(this.marksFolder);
    } catch {
      return [];
    }
  }
}

class ServerProcess {
  /** The signal that ended it, when it is gone and all that it said is known. */
  readonly ended: Promise<NodeJS.Signals | null>;
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(args: readonly string[]) {
    const script = fileURLToPath(new URL("server.fixture.ts", import.meta.url));
    this.#child = spawn(process.execPath, [script, ...args], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (this.#child.stdout === null) expect.fail("the server has no output");
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
    this.ended = once(this.#child, "exit").then(([, signal]) => signal);
  }

  async says(line: string): Promise<void> {
    while ((await this.#lines.next()).value !== line) expect(this.#child.exitCode).toBeNull();
  }

  async kill(): Promise<void> {
    if (this.#child.pid !== undefined) this.#child.kill("SIGKILL");
    expect(await this.ended).toBe("SIGKILL");
  }
}

/** The first line of what an agent says. */
export async function firstLine({ stdout }: AgentProcess): Promise<string> {
  for await (const line of createInterface({ input: stdout })) {
    stdout.resume();
    return line;
  }
  return "";
}

/** Whether a process is alive. A zombie is not. */
export function isAlive(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1");
  } catch {
    return "";
  }
}

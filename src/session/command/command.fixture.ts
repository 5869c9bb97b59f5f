import { expect } from "vitest";
import type { PromptId } from "../../core/id.ts";
import { NO_PERSONA } from "../../core/persona.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { SkillSnapshot } from "../../core/skill/skill.ts";
import { SNAPSHOT } from "../../core/slash/snapshot.fixture.ts";
import type { SessionStore } from "../../store/index.ts";
import type { SessionHost } from "../host.ts";
import type { LiveSession } from "../live.ts";
import { ada, withSession } from "../runtime.fixture.ts";
import { echo, promptOf, Stage, value } from "../stage.fixture.ts";

/** Files that a test changes, and that are read when it says so. */
export class SlowShelf {
  skills: SkillSnapshot = SNAPSHOT;
  /** Readers get nothing before this is kept. */
  open: Promise<void> = Promise.resolve();
  /** Called for every read. */
  wanted: () => void = () => {};
  /** Why nothing can be read at the moment, if so. */
  fault: string | null = null;

  readonly loader = {
    skills: async () => {
      this.wanted();
      await this.open;
      return this.#lend(this.skills);
    },
    persona: async () => this.#lend(NO_PERSONA),
  };

  #lend<Snapshot>(snapshot: Snapshot): Result<Snapshot> {
    if (this.fault === null) return ok(snapshot);
    return fail("skills_unavailable", { root: "bundled", reason: this.fault });
  }
}

/** A session whose commands are carried out, over files and a store that a test can change. */
export class Desk {
  readonly stage: Stage;
  readonly runtime: SessionHost;
  readonly live: LiveSession;
  readonly shelf: SlowShelf;

  private constructor(
    stage: Stage,
    shelf: SlowShelf,
    { runtime, live }: Pick<Desk, "runtime" | "live">,
  ) {
    this.stage = stage;
    this.shelf = shelf;
    this.runtime = runtime;
    this.live = live;
  }

  static async open(
    shelf: SlowShelf,
    wrap: (store: SessionStore) => SessionStore = (store) => store,
  ): Promise<Desk> {
    const [name, profile] = echo();
    const profiles = new Map([
      [name, profile],
      ["second", profile],
    ]);
    const stage = await Stage.open({ profiles, loader: shelf.loader, wrap });
    return new Desk(stage, shelf, await withSession(stage));
  }

  /** Sends a line; its promise is about the admission alone. */
  async send(line: string, deadlineAtMs: number | null = null): Promise<PromptId> {
    const prompt = { ...promptOf(this.live, line), actor: ada, deadlineAtMs };
    value(await this.runtime.submit(this.live.key, prompt));
    return prompt.promptId;
  }

  async say(line: string): Promise<readonly LogEvent[]> {
    return this.of(await this.send(line));
  }

  /** What the log has about this prompt, once it has a verdict and the session knows of it. */
  async of(promptId: PromptId): Promise<readonly LogEvent[]> {
    while (true) {
      // Asked for before the log is read, so that nothing is missed in between.
      const change = this.live.changed();
      const known = this.live.lastEventId;
      const own = (await this.log()).filter((event) => event.promptId === promptId);
      if (own.some((event) => isVerdict(event) && event.id <= known)) return own;
      await change;
    }
  }

  async log(): Promise<readonly LogEvent[]> {
    const range = { after: 0, limit: 1_000 };
    const { events } = value(await this.stage.world.store.readEvents(this.live.key, range));
    return events.map(({ text }) => JSON.parse(text));
  }

  /** The names of all sessions, of this tenant. */
  async sessionIds(): Promise<readonly string[]> {
    const { store } = this.stage.world;
    const page = { cursor: null, limit: 100 };
    const { sessions } = value(await store.list(this.live.key.tenantId, {}, page));
    return sessions.map(({ sessionId }) => sessionId);
  }
}

function isVerdict({ type }: LogEvent): boolean {
  return type === "turn_complete" || type === "turn_error";
}

/** The answers of commands among these, by their codes. */
export function codesIn(events: readonly LogEvent[]): readonly string[] {
  return events.flatMap((event) => (event.type === "command_result" ? [event.data.code] : []));
}

export function verdictIn(events: readonly LogEvent[]): object {
  const verdicts = events.filter(isVerdict);
  expect(verdicts).toHaveLength(1);
  return verdicts[0]?.data ?? {};
}

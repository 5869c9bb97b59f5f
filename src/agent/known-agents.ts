import { INSTALLED_AGENTS_FRESH_MS } from "../core/limits.ts";
import type { Clock } from "../platform/clock.ts";
import { detect } from "./process/spawn.ts";
import type { AgentProfile } from "./profile/profile.ts";

/** An agent that sessions can be given. It is the same for all tenants. */
export interface KnownAgent {
  readonly name: string;
  readonly title: string;
  readonly installed: boolean;
  /** How to install it, where that is known and not done. */
  readonly install?: string;
}

/** Finds out now and then which agents are installed, without running any of them. */
export class KnownAgents {
  readonly #profiles: readonly AgentProfile[];
  readonly #env: NodeJS.ProcessEnv;
  readonly #clock: Pick<Clock, "nowMs">;
  #found: { readonly atMs: number; readonly agents: Promise<readonly KnownAgent[]> } | null = null;

  constructor(
    profiles: readonly AgentProfile[],
    env: NodeJS.ProcessEnv,
    clock: Pick<Clock, "nowMs">,
  ) {
    this.#profiles = profiles;
    this.#env = env;
    this.#clock = clock;
  }

  /** As they were at most a few seconds ago, however many ask (P10). */
  list(): Promise<readonly KnownAgent[]> {
    const nowMs = this.#clock.nowMs();
    const ageMs = nowMs - (this.#found?.atMs ?? Number.NEGATIVE_INFINITY);
    if (this.#found !== null && ageMs >= 0 && ageMs < INSTALLED_AGENTS_FRESH_MS) {
      return this.#found.agents;
    }
    const agents = this.#look();
    this.#found = { atMs: nowMs, agents };
    return agents;
  }

  async #look(): Promise<readonly KnownAgent[]> {
    const found = await detect(this.#profiles, this.#env);
    return found.map(({ profile: { name, title, install }, path }) => {
      const isMissing = path === null;
      return { name, title, installed: !isMissing, ...(isMissing && install && { install }) };
    });
  }
}

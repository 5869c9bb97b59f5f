import type { SkillHeader } from "../core/skill/header.ts";
import type { SkillEnvironment } from "../core/skill/precedence.ts";
import type { SkillDiagnostic, SkillSnapshot } from "../core/skill/skill.ts";
import { type SkillCandidate, snapshotOf } from "../core/skill/snapshot.ts";
import { binariesOnPath } from "./skills.ts";

/** What beside the files decides which skills there are. */
interface SkillSurroundings {
  readonly platform: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  tools(wanted: readonly string[]): Promise<readonly string[]>;
  readonly reserved: ReadonlySet<string>;
}

/** What the files of skills say. Which of them can be used is found out anew each time. */
export class FoundSkills {
  readonly #candidates: readonly SkillCandidate[];
  readonly #diagnostics: readonly SkillDiagnostic[];
  readonly #binaries: readonly string[];
  readonly #tools: readonly string[];
  /** The directory of each program, the last time. */
  readonly #lastFound = new Map<string, string>();
  #last: { readonly environment: SkillEnvironment; readonly snapshot: SkillSnapshot } | null = null;

  constructor(candidates: readonly SkillCandidate[], diagnostics: readonly SkillDiagnostic[]) {
    this.#candidates = candidates;
    this.#diagnostics = diagnostics;
    const headers = candidates.flatMap(({ reading }) => {
      return reading.kind === "read" ? [reading.header] : [];
    });
    this.#binaries = headers.flatMap((header) => header.eligibility.binaries);
    this.#tools = headers.flatMap(toolsOf);
  }

  /** The very same snapshot while nothing that it depends on has changed. */
  async among(surroundings: SkillSurroundings): Promise<SkillSnapshot> {
    const environment = await this.#environmentIn(surroundings);
    if (this.#last === null || !isSame(this.#last.environment, environment)) {
      const snapshot = snapshotOf(this.#candidates, this.#diagnostics, environment);
      this.#last = { environment, snapshot };
    }
    return this.#last.snapshot;
  }

  async #environmentIn(surroundings: SkillSurroundings): Promise<SkillEnvironment> {
    const { platform, env, reserved, tools } = surroundings;
    const variables = Object.keys(env).filter((name) => (env[name] ?? "") !== "");
    return {
      platform,
      reserved,
      variables: new Set(variables),
      binaries: await binariesOnPath(this.#binaries, env.PATH, this.#lastFound),
      tools: new Set(await tools(this.#tools)),
    };
  }
}

function toolsOf({ commandTool: tool, requiresTools: required }: SkillHeader) {
  return tool === null ? required : [tool, ...required];
}

function isSame(one: SkillEnvironment, other: SkillEnvironment): boolean {
  const sets = ["reserved", "variables", "binaries", "tools"] as const;
  return one.platform === other.platform && sets.every((name) => hasSame(one[name], other[name]));
}

function hasSame(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((name) => other.has(name));
}

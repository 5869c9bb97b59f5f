import { NO_PERSONA, type Persona } from "../../core/persona.ts";
import { fail, ok } from "../../core/result.ts";
import { NO_SKILLS, type SkillSnapshot } from "../../core/skill/skill.ts";
import { echo } from "../../session/stage.fixture.ts";
import type { DaemonOptions } from "../daemon.fixture.ts";
import { fieldsRoute, supportedCommandsRoute } from "./session.ts";
import { activeAgentRoute, personaReloadRoute, skillsReloadRoute } from "./session-settings.ts";
import { openWork, Work, workRoutes } from "./work.fixture.ts";

/** Files that a test changes, in the place of those on a disk. */
export class Shelf {
  skills: SkillSnapshot = NO_SKILLS;
  persona: Persona = NO_PERSONA;
  /** Why nothing can be read at the moment, if so. */
  fault: string | null = null;

  readonly loader = {
    skills: async () => this.#lend(this.skills),
    persona: async () => this.#lend(this.persona),
  };

  #lend<Snapshot>(snapshot: Snapshot) {
    if (this.fault === null) return ok(snapshot);
    return fail("skills_unavailable", { root: "bundled", reason: this.fault });
  }
}

export const KIND: Persona = {
  files: [{ name: "SOUL.md", source: "user", path: "SOUL.md", text: "Be kind." }],
  diagnostics: [],
};

/** A session over such files, with the routes that show and change what it knows. */
export async function taught(
  shelf: Shelf,
  options: Partial<DaemonOptions> = {},
  ...clients: readonly string[]
): Promise<Work> {
  const world = await openWork({
    routes: (daemon) => [
      ...workRoutes(daemon),
      activeAgentRoute(daemon),
      fieldsRoute(daemon),
      personaReloadRoute(daemon),
      skillsReloadRoute(daemon),
      supportedCommandsRoute(daemon),
    ],
    world: { loader: shelf.loader },
    ...options,
  });
  return Work.made(world, ...clients);
}

/** Two agents to choose from. */
export function twoAgents(): Partial<DaemonOptions> {
  const [name, profile] = echo();
  return {
    stage: {
      profiles: new Map([
        [name, profile],
        ["other", profile],
      ]),
      settings: { agentNames: [name, "other"] },
    },
  };
}

/** Every field of the session, without the two that may change at any time. */
export async function steadyFields(work: Work) {
  const { status, body } = await work.call("GET", "/fields?detail=full");
  if (status !== 200) throw new Error(JSON.stringify(body));
  const { last_updated_at: _, command_history: __, ...steady } = body;
  return steady;
}

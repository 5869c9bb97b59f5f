import type { TenantId } from "../core/id.ts";
import type { Persona } from "../core/persona.ts";
import type { Result } from "../core/result.ts";
import type { SkillSnapshot } from "../core/skill/skill.ts";

/**
 * What sessions know of skill and persona files. They are read when somebody says so, never on
 * their own, and what is not there is no failure; only a required root that is missing is.
 */
export interface Loader {
  skills(place: LoadPlace): Promise<Result<SkillSnapshot>>;
  persona(place: LoadPlace): Promise<Result<Persona>>;
}

/** Whose session it is, and where. */
export interface LoadPlace {
  readonly tenantId: TenantId;
  readonly workspaceCwd: string;
}

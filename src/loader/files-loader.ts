import { realpath } from "node:fs/promises";
import { join } from "node:path";
import type { Persona } from "../core/persona.ts";
import { fail, ok, type Result } from "../core/result.ts";
import { ofRoot } from "../core/skill/diagnostic.ts";
import type { Surroundings } from "../core/skill/eligibility.ts";
import type { SkillHeader } from "../core/skill/header.ts";
import { precedenceOf } from "../core/skill/precedence.ts";
import type { SkillDiagnostic, SkillSnapshot } from "../core/skill/skill.ts";
import { type SkillCandidate, snapshotOf } from "../core/skill/snapshot.ts";
import { binariesOnPath } from "./binaries.ts";
import type { Loader, LoadPlace } from "./loader.ts";
import { anyPersonaFile, type PersonaPlace, readPersonaFiles } from "./persona-files.ts";
import { readSkills } from "./skill-reading.ts";
import {
  type Listing,
  listFolder,
  lookInto,
  type PlacedSkill,
  type RootLook,
  realRoot,
  type SkillRoot,
} from "./skill-roots.ts";

export interface FilesLoaderSettings {
  /** The skills that come with Fermata. */
  readonly bundled: string;
  /** Where whoever runs the server keeps `skills/` and persona files: `~/.fermata`. */
  readonly userFolder: string;
  readonly surroundings: {
    readonly platform: string;
    readonly env: Readonly<Record<string, string | undefined>>;
    /** Which tools can be called without a model, by name; at least of those that are wanted. */
    tools(wanted: readonly string[]): Promise<readonly string[]>;
  };
  /** Names of built-in commands, which no alias may be. */
  readonly reserved: ReadonlySet<string>;
  /** Whether the files of a workspace may speak to agents. */
  isTrusted(place: LoadPlace): Promise<boolean>;
  /** The specification's own way; here a project need not have skills (ruling). */
  readonly isWorkspaceRequired?: boolean;
  /** How directories are listed, for those who want another order. */
  readonly listing?: Listing;
}

/** The folder of a project, and of a person, in which Fermata's own files lie. */
const OWN_FOLDER = ".fermata";

/** Reads skills and personas from files, each time anew. It keeps nothing between two loads. */
export class FilesLoader implements Loader {
  readonly #settings: FilesLoaderSettings;

  constructor(settings: FilesLoaderSettings) {
    this.#settings = settings;
  }

  async skills(place: LoadPlace): Promise<Result<SkillSnapshot>> {
    const found: PlacedSkill[] = [];
    const said: SkillDiagnostic[] = [];
    for (const root of this.#roots(place)) {
      const look = await this.#look(root, place);
      if (look.kind === "looked") found.push(...look.found);
      if (look.kind === "untrusted") said.push(look.diagnostic);
      if (look.kind === "unusable" || look.kind === "missing") {
        const reason = look.kind === "missing" ? "the directory is not there" : look.reason;
        if (root.isRequired) return fail("skills_unavailable", { root: root.source, reason });
        if (look.kind === "unusable") said.push(look.diagnostic);
      }
    }
    const { winners, diagnostics } = precedenceOf(found);
    const candidates = await readSkills(winners);
    const surroundings = await this.#surroundings(candidates);
    return ok(snapshotOf(candidates, [...said, ...diagnostics], surroundings));
  }

  async persona(place: LoadPlace): Promise<Result<Persona>> {
    const settings = this.#settings;
    const own = await this.#workspacePlaces(place);
    const user: PersonaPlace = { source: "user", folder: settings.userFolder, way: "" };
    if (await settings.isTrusted(place)) return ok(await readPersonaFiles([...own, user]));
    const persona = await readPersonaFiles([user]);
    const name = await anyPersonaFile(own);
    if (name === null) return ok(persona);
    const message = `${untrusted("persona files", "/reload_persona")}.`;
    const diagnostic = { name, code: "untrusted_workspace" as const, message, path: "." };
    return ok({ ...persona, diagnostics: [diagnostic, ...persona.diagnostics] });
  }

  #roots({ workspaceCwd }: LoadPlace): readonly Root[] {
    const { bundled, userFolder, isWorkspaceRequired = false } = this.#settings;
    const user = join(userFolder, "skills");
    const own = join(workspaceCwd, OWN_FOLDER, "skills");
    return [
      { source: "bundled", folder: bundled, within: null, isRequired: true },
      { source: "user", folder: user, within: null, isRequired: false },
      { source: "workspace", folder: own, within: workspaceCwd, isRequired: isWorkspaceRequired },
    ];
  }

  async #look(root: SkillRoot, place: LoadPlace): Promise<RootLook | Untrusted> {
    const settings = this.#settings;
    const found = await realRoot(root);
    if (root.source === "workspace" && found.kind !== "missing") {
      if (found.kind === "real" && (await this.#isUsers(root.folder, "skills"))) {
        return { kind: "looked", found: [] };
      }
      if (!(await settings.isTrusted(place))) {
        const why = untrusted("skills", "/reload_skills");
        const diagnostic = ofRoot("workspace", "untrusted_workspace", why);
        return { kind: "untrusted", diagnostic };
      }
    }
    if (found.kind !== "real") return found;
    return lookInto(root.source, found.real, settings.listing ?? listFolder);
  }

  /** Who works in the home directory has one folder for both, and it is the user's. */
  async #isUsers(folder: string, name: string): Promise<boolean> {
    const paths = [folder, join(this.#settings.userFolder, name)];
    const [own, users] = await Promise.all(paths.map((path) => realpath(path).catch(() => null)));
    return own !== null && own === users;
  }

  async #workspacePlaces({ workspaceCwd: folder }: LoadPlace): Promise<readonly PersonaPlace[]> {
    const isUsers = await this.#isUsers(join(folder, OWN_FOLDER), "");
    const inOwn: PersonaPlace = { source: "workspace", folder, way: OWN_FOLDER };
    return [...(isUsers ? [] : [inOwn]), { source: "workspace", folder, way: "" }];
  }

  async #surroundings(candidates: readonly SkillCandidate[]): Promise<Surroundings> {
    const { surroundings, reserved } = this.#settings;
    const { platform, env } = surroundings;
    const headers = candidates.flatMap(({ reading }) => {
      return reading.kind === "read" ? [reading.header] : [];
    });
    const wanted = headers.flatMap((header) => header.eligibility.binaries);
    const variables = Object.keys(env).filter((name) => (env[name] ?? "") !== "");
    return {
      platform,
      reserved,
      variables: new Set(variables),
      binaries: await binariesOnPath(wanted, env.PATH),
      tools: new Set(await surroundings.tools(headers.flatMap(toolsOf))),
    };
  }
}

function toolsOf({ commandTool: tool, requiresTools: required }: SkillHeader) {
  return tool === null ? required : [tool, ...required];
}

interface Root extends SkillRoot {
  /** Without it there is no session; any other may be missing. */
  readonly isRequired: boolean;
}

interface Untrusted {
  readonly kind: "untrusted";
  readonly diagnostic: SkillDiagnostic;
}

/** What is in it is not told: nobody has vouched for a word of it. */
function untrusted(what: string, reload: string): string {
  return (
    `this workspace has ${what}, which are not used because it is not trusted; ` +
    `to trust it, POST /workspaces {"cwd": …, "trusted": true}, then ${reload}`
  );
}

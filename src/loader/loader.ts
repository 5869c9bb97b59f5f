import { realpath } from "node:fs/promises";
import { join } from "node:path";
import type { TenantId } from "../core/id.ts";
import { PERSONA_FILE_BYTES_MAX } from "../core/limits.ts";
import {
  PERSONA_FILES,
  type Persona,
  type PersonaDiagnostic,
  type PersonaFile,
  type PersonaFileName,
  type PersonaSource,
} from "../core/persona.ts";
import { fail, ok, type Result } from "../core/result.ts";
import type { SkillHeader } from "../core/skill/header.ts";
import { precedenceOf, type SkillEnvironment } from "../core/skill/precedence.ts";
import { ofRoot, type SkillDiagnostic, type SkillSnapshot } from "../core/skill/skill.ts";
import { type SkillCandidate, snapshotOf } from "../core/skill/snapshot.ts";
import {
  binariesOnPath,
  type Listing,
  listFolder,
  lookInto,
  type PlacedSkill,
  type RootLook,
  readSkills,
  realRoot,
  type SkillRoot,
} from "./skills.ts";
import { hasName, readTextInside } from "./text-file.ts";

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

  async #surroundings(candidates: readonly SkillCandidate[]): Promise<SkillEnvironment> {
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

/** A directory in which persona files may lie, strongest first. */
export interface PersonaPlace {
  readonly source: PersonaSource;
  /** The file must really lie below this. */
  readonly folder: string;
  /** The way from there to the files, with `/`; empty if they lie in it. */
  readonly way: string;
}

/**
 * For each name the first file that is there. If that one cannot be used, nothing takes its place,
 * as with skills: a persona is what its owner wrote, or visibly nothing.
 */
async function readPersonaFiles(places: readonly PersonaPlace[]): Promise<Persona> {
  const looks = await Promise.all(PERSONA_FILES.map((name) => firstOf(name, places)));
  return {
    files: looks.flatMap((look) => look?.file ?? []),
    diagnostics: looks.flatMap((look) => look?.diagnostic ?? []),
  };
}

/** The first of the names that there is a file for, at any of the places. */
async function anyPersonaFile(places: readonly PersonaPlace[]): Promise<PersonaFileName | null> {
  for (const name of PERSONA_FILES) {
    for (const { folder, way } of places) {
      if (await hasName(join(folder, way, name))) return name;
    }
  }
  return null;
}

type Look = { readonly file?: PersonaFile; readonly diagnostic?: PersonaDiagnostic };

async function firstOf(
  name: PersonaFileName,
  places: readonly PersonaPlace[],
): Promise<Look | null> {
  for (const { source, folder, way } of places) {
    const path = way === "" ? name : `${way}/${name}`;
    const root = await realpath(folder).catch(() => null);
    if (root === null) continue;
    const read = await readTextInside(root, join(root, path), PERSONA_FILE_BYTES_MAX);
    if (read.kind === "missing") continue;
    if (read.kind === "text" && !read.text.includes("\0")) {
      return { file: { name, source, path, text: read.text } };
    }
    const { code, reason } = read.kind === "fault" ? read : NUL;
    const message = `${name} of the ${source} cannot be used: ${reason}.`;
    return { diagnostic: { name, code, message, path } };
  }
  return null;
}

const NUL = { code: "unreadable", reason: "it has a NUL character" } as const;

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
import { precedenceOf } from "../core/skill/precedence.ts";
import { ofRoot, type SkillDiagnostic, type SkillSnapshot } from "../core/skill/skill.ts";
import type { Footprint } from "./footprint.ts";
import { FoundSkills } from "./found-skills.ts";
import { LoaderMemory } from "./kept-loads.ts";
import {
  type FolderLister,
  type LocatedSkill,
  listFolder,
  listSkills,
  type RootContents,
  readSkills,
  realRoot,
  type SkillRoot,
} from "./skills.ts";
import { FILES_EXHAUSTED } from "./system-error.ts";
import { hasName, readTextInside, type WorkspaceRights } from "./text-file.ts";

/**
 * Skill and persona files, as sessions see them. A session reads them when it opens and when a
 * client asks for a reload, never by itself. A missing file is no failure; a missing required root
 * is one.
 */
export interface Loader {
  skills(scope: LoadScope): Promise<Result<SkillSnapshot>>;
  persona(scope: LoadScope): Promise<Result<Persona>>;
}

/** The tenant and the workspace of the session that loads. */
export interface LoadScope {
  readonly tenantId: TenantId;
  readonly workspaceCwd: string;
}

export interface FilesLoaderSettings {
  /** The folder of the skills that come with Fermata. */
  readonly bundled: string;
  /** The operator's own folder, with `skills/` and persona files: `~/.fermata`. */
  readonly userFolder: string;
  readonly platform: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Answers with the names of tools that run without a model; at least with the wanted ones. */
  tools(wanted: readonly string[]): Promise<readonly string[]>;
  /** Names of built-in commands, which no alias may have. */
  readonly reserved: ReadonlySet<string>;
  /** Whether the files of a workspace may speak to agents. */
  isTrusted(scope: LoadScope): Promise<boolean>;
  /** What agents may see of a workspace. By default all of it. */
  readonly rights?: WorkspaceRights | null;
  /** Whether a workspace without skills is refused. By default it is not. */
  readonly isWorkspaceRequired?: boolean;
  /** Tests list folders in another order. */
  readonly listing?: FolderLister;
  /** Loads that were made with the same other settings. */
  readonly kept?: LoaderMemory;
}

/** The folder of a project, and of a person, that holds Fermata's own files. */
const OWN_FOLDER = ".fermata";

/**
 * Reads skills and personas from files. What it has read before it gives again only if it finds
 * all files unchanged.
 */
export class FilesLoader implements Loader {
  readonly #settings: FilesLoaderSettings;
  readonly #kept: LoaderMemory;

  constructor(settings: FilesLoaderSettings) {
    this.#settings = settings;
    this.#kept = settings.kept ?? new LoaderMemory();
  }

  async skills(scope: LoadScope): Promise<Result<SkillSnapshot>> {
    const isTrusted = await this.#settings.isTrusted(scope);
    const load = (seen: Footprint) => this.#foundSkills(seen, scope, isTrusted);
    const found = await this.#kept.skills.of(nameOf(scope, isTrusted), load);
    return found.ok ? ok(await found.value.among(this.#settings)) : found;
  }

  async persona(scope: LoadScope): Promise<Result<Persona>> {
    const isTrusted = await this.#settings.isTrusted(scope);
    const load = (seen: Footprint) => this.#foundPersona(seen, scope, isTrusted);
    return ok(await this.#kept.personas.of(nameOf(scope, isTrusted), load));
  }

  async #foundSkills(
    seen: Footprint,
    scope: LoadScope,
    isTrusted: boolean,
  ): Promise<Result<FoundSkills>> {
    const found: LocatedSkill[] = [];
    const rootDiagnostics: SkillDiagnostic[] = [];
    for (const root of this.#roots(scope)) {
      const contents = await this.#contentsOf(seen, root, isTrusted);
      if (contents.kind === "listed") found.push(...contents.found);
      if (contents.kind === "unusable" || contents.kind === "missing") {
        const reason = contents.kind === "missing" ? "the directory is not there" : contents.reason;
        // The folder is as good as ever: the server has no file handle left to look into it.
        if (root.isRequired && reason === FILES_EXHAUSTED) return fail("files_exhausted");
        if (root.isRequired) return fail("skills_unavailable", { root: root.source, reason });
      }
      if ("diagnostic" in contents) rootDiagnostics.push(contents.diagnostic);
    }
    const { winners, diagnostics } = precedenceOf(found);
    const candidates = await readSkills(seen, winners, this.#settings.rights ?? null);
    return ok(new FoundSkills(candidates, [...rootDiagnostics, ...diagnostics]));
  }

  async #foundPersona(seen: Footprint, scope: LoadScope, isTrusted: boolean): Promise<Persona> {
    const settings = this.#settings;
    const own = await this.#workspaceFolders(seen, scope);
    const user: PersonaFolder = { source: "user", root: settings.userFolder, subfolder: "" };
    const rights = settings.rights ?? null;
    if (isTrusted) return readPersonaFiles(seen, [...own, user], rights);
    const persona = await readPersonaFiles(seen, [user], rights);
    const name = await anyPersonaFile(seen, own);
    if (name === null) return persona;
    const message = `${untrusted("persona files", "/reload_persona")}.`;
    const diagnostic = { name, code: "untrusted_workspace" as const, message, path: "." };
    return { ...persona, diagnostics: [diagnostic, ...persona.diagnostics] };
  }

  #roots({ workspaceCwd }: LoadScope): readonly SkillRoot[] {
    const { bundled, userFolder, isWorkspaceRequired = false } = this.#settings;
    const user = join(userFolder, "skills");
    const own = join(workspaceCwd, OWN_FOLDER, "skills");
    return [
      { source: "bundled", folder: bundled, within: null, isRequired: true },
      { source: "user", folder: user, within: null, isRequired: false },
      { source: "workspace", folder: own, within: workspaceCwd, isRequired: isWorkspaceRequired },
    ];
  }

  async #contentsOf(
    seen: Footprint,
    root: SkillRoot,
    isTrusted: boolean,
  ): Promise<RootContents | { readonly kind: "untrusted"; readonly diagnostic: SkillDiagnostic }> {
    const found = await realRoot(seen, root);
    if (root.source === "workspace" && found.kind !== "missing") {
      if (found.kind === "real" && (await this.#isUserFolder(seen, root.folder, "skills"))) {
        return { kind: "listed", found: [] };
      }
      if (!isTrusted) {
        const why = untrusted("skills", "/reload_skills");
        const diagnostic = ofRoot("workspace", "untrusted_workspace", why);
        return { kind: "untrusted", diagnostic };
      }
    }
    if (found.kind !== "real") return found;
    return listSkills(seen, root.source, found.real, this.#settings.listing ?? listFolder);
  }

  /** In the operator's home both folders are one, and it counts as the user's. */
  async #isUserFolder(seen: Footprint, folder: string, name: string): Promise<boolean> {
    const paths = [folder, join(this.#settings.userFolder, name)];
    const real = paths.map((path) => seen.realpath(path).catch(() => null));
    const [own, users] = await Promise.all(real);
    return own !== null && own === users;
  }

  async #workspaceFolders(
    seen: Footprint,
    { workspaceCwd: root }: LoadScope,
  ): Promise<readonly PersonaFolder[]> {
    const isUsers = await this.#isUserFolder(seen, join(root, OWN_FOLDER), "");
    const inOwn: PersonaFolder = { source: "workspace", root, subfolder: OWN_FOLDER };
    return [...(isUsers ? [] : [inOwn]), { source: "workspace", root, subfolder: "" }];
  }
}

/** The workspace, and whether what is in it counts. */
function nameOf({ workspaceCwd }: LoadScope, isTrusted: boolean): string {
  return JSON.stringify([workspaceCwd, isTrusted]);
}

/** Names nothing of what the files say: no member has vouched for them. */
function untrusted(what: string, reload: string): string {
  return (
    `this workspace has ${what}, which are not used because it is not trusted; ` +
    `to trust it, POST /workspaces {"cwd": …, "trusted": true}, then ${reload}`
  );
}

/** A folder that may hold persona files. */
interface PersonaFolder {
  readonly source: PersonaSource;
  /** The real path of a file must be below this. */
  readonly root: string;
  /** The path from the root to the files, with `/`; empty if they are in the root. */
  readonly subfolder: string;
}

/**
 * Reads for each name the first file that exists, strongest folder first. If that file cannot be
 * used, no other one replaces it: a persona is what its owner wrote, or visibly nothing.
 */
async function readPersonaFiles(
  seen: Footprint,
  folders: readonly PersonaFolder[],
  rights: WorkspaceRights | null,
): Promise<Persona> {
  const names = PERSONA_FILES.map((name) => readFirst(seen, name, folders, rights));
  const reads = await Promise.all(names);
  return {
    files: reads.flatMap((read) => read?.file ?? []),
    diagnostics: reads.flatMap((read) => read?.diagnostic ?? []),
  };
}

/** The first persona name for which any of the folders has a file. */
async function anyPersonaFile(
  seen: Footprint,
  folders: readonly PersonaFolder[],
): Promise<PersonaFileName | null> {
  for (const name of PERSONA_FILES) {
    for (const { root, subfolder } of folders) {
      if (await hasName(seen, join(root, subfolder, name))) return name;
    }
  }
  return null;
}

async function readFirst(
  seen: Footprint,
  name: PersonaFileName,
  folders: readonly PersonaFolder[],
  rights: WorkspaceRights | null,
): Promise<{ readonly file?: PersonaFile; readonly diagnostic?: PersonaDiagnostic } | null> {
  for (const { source, root: folder, subfolder } of folders) {
    const path = subfolder === "" ? name : `${subfolder}/${name}`;
    const root = await seen.realpath(folder).catch(() => null);
    if (root === null) continue;
    const by = source === "workspace" ? rights : null;
    const read = await readTextInside(seen, root, join(root, path), PERSONA_FILE_BYTES_MAX, by);
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

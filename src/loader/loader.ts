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
  type FolderLister,
  type LocatedSkill,
  listFolder,
  listSkills,
  type RootContents,
  readSkills,
  realRoot,
  type SkillRoot,
} from "./skills.ts";
import { FILES_EXHAUSTED, hasName, readTextInside, type WorkspaceRights } from "./text-file.ts";

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
}

/** The folder of a project, and of a person, that holds Fermata's own files. */
const OWN_FOLDER = ".fermata";

/** Reads skills and personas from files on every call. It caches nothing. */
export class FilesLoader implements Loader {
  readonly #settings: FilesLoaderSettings;

  constructor(settings: FilesLoaderSettings) {
    this.#settings = settings;
  }

  async skills(scope: LoadScope): Promise<Result<SkillSnapshot>> {
    const found: LocatedSkill[] = [];
    const rootDiagnostics: SkillDiagnostic[] = [];
    for (const root of this.#roots(scope)) {
      const contents = await this.#contentsOf(root, scope);
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
    const candidates = await readSkills(winners, this.#settings.rights ?? null);
    const surroundings = await this.#surroundings(candidates);
    return ok(snapshotOf(candidates, [...rootDiagnostics, ...diagnostics], surroundings));
  }

  async persona(scope: LoadScope): Promise<Result<Persona>> {
    const settings = this.#settings;
    const own = await this.#workspaceFolders(scope);
    const user: PersonaFolder = { source: "user", root: settings.userFolder, subfolder: "" };
    const rights = settings.rights ?? null;
    if (await settings.isTrusted(scope)) return ok(await readPersonaFiles([...own, user], rights));
    const persona = await readPersonaFiles([user], rights);
    const name = await anyPersonaFile(own);
    if (name === null) return ok(persona);
    const message = `${untrusted("persona files", "/reload_persona")}.`;
    const diagnostic = { name, code: "untrusted_workspace" as const, message, path: "." };
    return ok({ ...persona, diagnostics: [diagnostic, ...persona.diagnostics] });
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
    root: SkillRoot,
    scope: LoadScope,
  ): Promise<RootContents | { readonly kind: "untrusted"; readonly diagnostic: SkillDiagnostic }> {
    const settings = this.#settings;
    const found = await realRoot(root);
    if (root.source === "workspace" && found.kind !== "missing") {
      if (found.kind === "real" && (await this.#isUserFolder(root.folder, "skills"))) {
        return { kind: "listed", found: [] };
      }
      if (!(await settings.isTrusted(scope))) {
        const why = untrusted("skills", "/reload_skills");
        const diagnostic = ofRoot("workspace", "untrusted_workspace", why);
        return { kind: "untrusted", diagnostic };
      }
    }
    if (found.kind !== "real") return found;
    return listSkills(root.source, found.real, settings.listing ?? listFolder);
  }

  /** In the operator's home both folders are one, and it counts as the user's. */
  async #isUserFolder(folder: string, name: string): Promise<boolean> {
    const paths = [folder, join(this.#settings.userFolder, name)];
    const [own, users] = await Promise.all(paths.map((path) => realpath(path).catch(() => null)));
    return own !== null && own === users;
  }

  async #workspaceFolders({ workspaceCwd: root }: LoadScope): Promise<readonly PersonaFolder[]> {
    const isUsers = await this.#isUserFolder(join(root, OWN_FOLDER), "");
    const inOwn: PersonaFolder = { source: "workspace", root, subfolder: OWN_FOLDER };
    return [...(isUsers ? [] : [inOwn]), { source: "workspace", root, subfolder: "" }];
  }

  async #surroundings(candidates: readonly SkillCandidate[]): Promise<SkillEnvironment> {
    const { platform, env, reserved, tools } = this.#settings;
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
      tools: new Set(await tools(headers.flatMap(toolsOf))),
    };
  }
}

function toolsOf({ commandTool: tool, requiresTools: required }: SkillHeader) {
  return tool === null ? required : [tool, ...required];
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
  folders: readonly PersonaFolder[],
  rights: WorkspaceRights | null,
): Promise<Persona> {
  const reads = await Promise.all(PERSONA_FILES.map((name) => readFirst(name, folders, rights)));
  return {
    files: reads.flatMap((read) => read?.file ?? []),
    diagnostics: reads.flatMap((read) => read?.diagnostic ?? []),
  };
}

/** The first persona name for which any of the folders has a file. */
async function anyPersonaFile(folders: readonly PersonaFolder[]): Promise<PersonaFileName | null> {
  for (const name of PERSONA_FILES) {
    for (const { root, subfolder } of folders) {
      if (await hasName(join(root, subfolder, name))) return name;
    }
  }
  return null;
}

async function readFirst(
  name: PersonaFileName,
  folders: readonly PersonaFolder[],
  rights: WorkspaceRights | null,
): Promise<{ readonly file?: PersonaFile; readonly diagnostic?: PersonaDiagnostic } | null> {
  for (const { source, root: folder, subfolder } of folders) {
    const path = subfolder === "" ? name : `${subfolder}/${name}`;
    const root = await realpath(folder).catch(() => null);
    if (root === null) continue;
    const by = source === "workspace" ? rights : null;
    const read = await readTextInside(root, join(root, path), PERSONA_FILE_BYTES_MAX, by);
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

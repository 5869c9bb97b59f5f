import { execFileSync } from "node:child_process";
import type { Dirent } from "node:fs";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseTenantId } from "../core/id.ts";
import type { Persona } from "../core/persona.ts";
import type { Result } from "../core/result.ts";
import type { SkillSnapshot, SkillSource } from "../core/skill/skill.ts";
import { FilesLoader, type FilesLoaderSettings, type LoadScope } from "./loader.ts";
import { type FolderLister, listFolder } from "./skills.ts";

/** A machine of its own: bundled skills, a person's folder, a workspace, and what lies outside. */
export class Tree {
  readonly root: string;
  readonly bundled: string;
  readonly userFolder: string;
  readonly workspace: string;
  readonly place: LoadScope;

  constructor(root: string) {
    this.root = root;
    this.bundled = join(root, "bundled");
    this.userFolder = join(root, "home", ".fermata");
    this.workspace = join(root, "workspace");
    const tenantId = parseTenantId("tenant");
    if (tenantId === null) throw new Error("this is a tenant's id");
    this.place = { tenantId, workspaceCwd: this.workspace };
  }

  /** The root of skills of this source, or what is below it. */
  at(source: SkillSource, ...names: readonly string[]): string {
    const roots: Readonly<Record<SkillSource, string>> = {
      bundled: this.bundled,
      user: join(this.userFolder, "skills"),
      workspace: join(this.workspace, ".fermata", "skills"),
    };
    return join(roots[source], ...names);
  }

  async write(file: string, content: string | Uint8Array): Promise<string> {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
    return file;
  }

  skill(source: SkillSource, name: string, content: string | Uint8Array = ""): Promise<string> {
    return this.write(this.at(source, name, "SKILL.md"), content);
  }

  loader(settings: Partial<FilesLoaderSettings> = {}): FilesLoader {
    return new FilesLoader({
      bundled: this.bundled,
      userFolder: this.userFolder,
      platform: "linux",
      env: {},
      tools: async () => ["shell"],
      reserved: new Set(["skills", "help"]),
      isTrusted: async () => true,
      ...settings,
    });
  }

  async skills(settings: Partial<FilesLoaderSettings> = {}): Promise<SkillSnapshot> {
    return given(await this.loader(settings).skills(this.place));
  }

  async persona(settings: Partial<FilesLoaderSettings> = {}): Promise<Persona> {
    return given(await this.loader(settings).persona(this.place));
  }
}

export async function withTree(run: (tree: Tree) => Promise<void>): Promise<void> {
  const tree = new Tree(await realpath(await mkdtemp(join(tmpdir(), "fermata-loader-"))));
  try {
    await mkdir(tree.bundled);
    await mkdir(tree.workspace);
    await run(tree);
  } finally {
    await rm(tree.root, { recursive: true, force: true });
  }
}

/** Lists a directory as it is, and gives what is in it on as `order` wants. */
export function listedAs(order: (children: readonly Dirent[]) => Iterable<Dirent>): FolderLister {
  return async (folder) => {
    const children: Dirent[] = [];
    for await (const child of await listFolder(folder)) children.push(child);
    return givenOn(order(children));
  };
}

async function* givenOn(children: Iterable<Dirent>): AsyncIterable<Dirent> {
  yield* children;
}

/** Node can make every kind of file but this. */
export function makePipe(path: string): void {
  execFileSync("/usr/bin/mkfifo", [path]);
}

function given<Value>(result: Result<Value>): Value {
  if (!result.ok) throw new Error(`refused: ${JSON.stringify(result.refusal)}`);
  return result.value;
}

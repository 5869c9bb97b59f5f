import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "../../core/json.ts";
import type { Result } from "../../core/result.ts";
import type { WorkspaceScope } from "./location.ts";

/** A workspace, a directory beside it that is none of the agent's business, and a record. */
export class World {
  readonly root: string;
  readonly workspace: string;
  readonly outside: string;
  readonly acts: (readonly [string, JsonObject])[] = [];
  /** What happens while an act is being recorded: here a test can come between. */
  meanwhile: () => Promise<void> = async () => {};

  constructor(root: string) {
    this.root = root;
    this.workspace = join(root, "workspace");
    this.outside = join(root, "outside");
  }

  readonly audit = async (act: string, details: JsonObject): Promise<void> => {
    this.acts.push([act, details]);
    await this.meanwhile();
  };

  /** The whole workspace. */
  get scope(): WorkspaceScope {
    return { root: this.workspace, isClosed: () => false };
  }

  in(...names: string[]): string {
    return join(this.workspace, ...names);
  }

  out(...names: string[]): string {
    return join(this.outside, ...names);
  }

  /** Every name below the world's root, sorted: what a test has left there, seen at once. */
  async names(): Promise<readonly string[]> {
    return (await readdir(this.root, { recursive: true })).sort();
  }
}

export async function withWorld(run: (world: World) => Promise<void>): Promise<void> {
  const world = new World(await realpath(await mkdtemp(join(tmpdir(), "fermata-workspace-"))));
  try {
    await mkdir(world.workspace);
    await mkdir(world.outside);
    await run(world);
  } finally {
    await rm(world.root, { recursive: true, force: true });
  }
}

/** Node can make every kind of file but this. */
export function makePipe(path: string) {
  execFileSync("/usr/bin/mkfifo", [path]);
}

/** `code: reason`, for refusals that give one. */
export function whyNot(result: Result<unknown>): string {
  if (result.ok) return "ok";
  const { code, details } = result.refusal;
  return `${code}: ${details.reason ?? "-"}`;
}

export function given<Value>(result: Result<Value>): Value {
  if (!result.ok) throw new Error(`refused: ${JSON.stringify(result.refusal)}`);
  return result.value;
}

export { codeOf } from "../result.fixture.ts";

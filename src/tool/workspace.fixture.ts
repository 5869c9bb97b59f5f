import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { AgentMarks } from "../agent/process/marks.ts";
import { processTable } from "../agent/process/process-table.ts";
import type { ToolContext } from "./tool.ts";

/** A workspace, a directory beside it that is none of a tool's business, and marks. */
export interface World {
  readonly root: string;
  readonly outside: string;
  readonly marksFolder: string;
  readonly marks: AgentMarks;
  readonly place: ToolContext;
}

export async function newWorld(): Promise<World> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "fermata-tool-")));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const [workspace, outside] = [join(root, "workspace"), join(root, "outside")];
  await mkdir(join(workspace, "src"), { recursive: true });
  await mkdir(outside);
  const marksFolder = join(root, "marks");
  const place = { workspaceCwd: workspace, cwd: workspace };
  return { root, outside, marksFolder, marks: new AgentMarks(marksFolder), place };
}

/** A signal that never fires. */
export const FOREVER = new AbortController().signal;

export async function isAlive(pid: number): Promise<boolean> {
  const all = await processTable().list("0");
  return all.some((one) => one.pid === pid);
}

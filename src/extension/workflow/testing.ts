import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { sentenceOf } from "../../core/error.ts";
import type { JsonObject } from "../../core/json.ts";
import { fail, ok } from "../../core/result.ts";
import { lookAt } from "../discovery/discovery.ts";
import { coreVersion, PLAY_CLOCK } from "../testing.ts";
import { ExtensionThread } from "../thread/thread.ts";
import type { CommandOutcome, WorkflowHost, WorkflowRun } from "./contract.ts";
import { DeclaredRun } from "./declared-run.ts";
import { readKnown } from "./known-workflows.ts";
import { readModulePlan } from "./module-plan.ts";
import { loadedIn, ModuleRun, stagesIn } from "./module-run.ts";
import { Play, type PlayAct, type PlayedAct, type PlayedWorkflow } from "./play.ts";

export type { PlayAct, PlayedAct, PlayedStage, PlayedWorkflow } from "./play.ts";

export interface PlayOptions {
  /** The words after the name of the workflow. */
  readonly input?: string;
  /**
   * What the agent does, by stage: one entry for each time that it is at work there, or a function
   * that is told what the agent is told.
   */
  readonly acts: PlayAct | { readonly [stageId: string]: readonly PlayedAct[] };
  /** How the commands of stages go. Without it none may run. */
  run?(command: string): Partial<CommandOutcome>;
  /** What the operator configures the module with, if it is one. */
  readonly config?: JsonObject;
}

/**
 * Plays the workflow in a file, or that of a module in a folder, to its end, without an agent and
 * without a server. Rejects with what is wrong with it, or with what a session would refuse.
 */
export async function playWorkflow(
  file: string | URL,
  { input = "", acts, run, config = {} }: PlayOptions,
): Promise<PlayedWorkflow> {
  const path = resolve(file instanceof URL ? fileURLToPath(file) : file);
  const ran = async (command: string) => {
    if (run === undefined) return fail("session_shell_disabled");
    return ok({ exitCode: 0, output: "", ...run(command) });
  };
  const host = { run: ran };
  const workflow = path.endsWith(".yaml")
    ? await declaredIn(path, host)
    : await moduleIn(path, config, host);
  const { name, input: wanted } = workflow.plan;
  const act = typeof acts === "function" ? acts : inOrder(acts);
  try {
    if (wanted !== null && input.trim() === "") {
      throw new Error(`the workflow "${name}" needs an input: ${wanted}`);
    }
    return await new Play(workflow, input, act).play();
  } finally {
    await workflow.end();
  }
}

type PlayHost = Pick<WorkflowHost, "run">;

async function declaredIn(path: string, host: PlayHost): Promise<WorkflowRun> {
  const { declared, why } = await readKnown("workspace", path);
  if (declared === null) throw new Error(why === null ? path : sentenceOf(why));
  return new DeclaredRun(declared, host);
}

async function moduleIn(path: string, config: JsonObject, host: PlayHost): Promise<WorkflowRun> {
  const looked = await lookAt(path, coreVersion());
  if ("why" in looked) throw new Error(sentenceOf(looked.why));
  const { manifest } = looked;
  const session = { sessionId: "played", workspaceCwd: process.cwd(), isResumed: false };
  const start = {
    ...{ module: pathToFileURL(join(path, manifest.main)).href, id: manifest.id, session },
    ...{ config: JSON.stringify(config), slot: null, stateSlot: null, hooks: [] },
  };
  const options = { clock: PLAY_CLOCK, ended: () => {}, noted: () => {}, isPlayed: true };
  const started = () => new ExtensionThread(start, options);
  const thread = started();
  const failed = await loadedIn(thread);
  const said = failed ?? (await stagesIn(thread));
  thread.end("its stages are known");
  if (typeof said === "string") throw new Error(said);
  const plan = readModulePlan(manifest, said);
  if (!plan.ok) throw new Error(sentenceOf(plan.refusal));
  return new ModuleRun(plan.value, host, () => ok(started()));
}

function inOrder(acts: { readonly [stageId: string]: readonly PlayedAct[] }): PlayAct {
  const left = new Map(Object.entries(acts).map(([id, list]) => [id, [...list]]));
  return (stageId) => {
    const next = left.get(stageId)?.shift();
    if (next !== undefined) return next;
    const count = acts[stageId]?.length ?? 0;
    throw new Error(`"acts" has ${count} for the stage "${stageId}", and it is at work once more`);
  };
}

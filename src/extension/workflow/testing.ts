import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { sentenceOf } from "../../core/error.ts";
import { fail, ok } from "../../core/result.ts";
import type { CommandOutcome } from "./contract.ts";
import { DeclaredRun } from "./declared-run.ts";
import { readKnown } from "./known-workflows.ts";
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
}

/**
 * Plays the workflow in a file to its end, without an agent and without a server. Rejects with what
 * is wrong with the file, or with what a session would refuse.
 */
export async function playWorkflow(
  file: string | URL,
  { input = "", acts, run }: PlayOptions,
): Promise<PlayedWorkflow> {
  const path = resolve(file instanceof URL ? fileURLToPath(file) : file);
  const { declared, why } = await readKnown("workspace", path);
  if (declared === null) throw new Error(why === null ? path : sentenceOf(why));
  if (declared.input !== null && input.trim() === "") {
    throw new Error(`the workflow "${declared.name}" needs an input: ${declared.input}`);
  }
  const ran = async (command: string) => {
    if (run === undefined) return fail("session_shell_disabled");
    return ok({ exitCode: 0, output: "", ...run(command) });
  };
  const act = typeof acts === "function" ? acts : inOrder(acts);
  return new Play(new DeclaredRun(declared, { run: ran }), input, act).play();
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

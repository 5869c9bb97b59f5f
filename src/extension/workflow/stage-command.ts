import { fail, ok, type Result } from "../../core/result.ts";
import { render } from "../../core/workflow/render.ts";
import type { CommandOutcome, StageContext, StageExecution } from "./contract.ts";

/** Runs the command of a stage, if it has one, and answers what the context has of that. */
export async function ranCommand(
  workflow: string,
  command: string | null,
  at: StageExecution,
  run: (command: string) => Promise<Result<CommandOutcome>>,
): Promise<Result<StageContext>> {
  if (command === null) return ok({});
  const rendered = render(command, { ...at });
  if ("unresolved" in rendered) {
    const reason = `nothing is known for ${rendered.unresolved} of its command`;
    return fail("workflow_failed", { workflow, phase: "setup", reason });
  }
  const ran = await run(rendered.text);
  if (!ran.ok) return ran;
  const { exitCode, output } = ran.value;
  return ok({ run: { exitCode, output } });
}

import { execFile } from "node:child_process";
import { ROOT } from "./files.ts";

type Run = { readonly exitCode: number; readonly stdout: string; readonly stderr: string };

/** Runs this Node in the repository's root and waits for its end, with any exit code. */
export function runNode(args: readonly string[], variables: NodeJS.ProcessEnv = {}): Promise<Run> {
  const options = { cwd: ROOT, env: { ...process.env, ...variables } };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, options, (_error, stdout, stderr) => {
      resolve({ exitCode: child.exitCode ?? -1, stdout, stderr });
    });
  });
}

import type { ExitCode } from "./table/exit-codes.ts";

/** Ends a command: what happened and why, and what to type. */
export class CommandFailure extends Error {
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, sentence: string) {
    super(sentence);
    this.exitCode = exitCode;
  }
}

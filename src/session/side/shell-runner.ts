/**
 * Runs the command lines that clients give to a session's shell. Sessions know no more of it than
 * this, so that what runs them can be another machine, or a test.
 */
export interface ShellRunner {
  /**
   * Runs one command line and answers when it has ended and its output is complete; what it left
   * in the background has been killed by then. The signal ends it, politely and then not. It never
   * rejects.
   */
  run(order: ShellOrder, ears: ShellEars, signal: AbortSignal): Promise<ShellExit>;
}

export interface ShellOrder {
  readonly command: string;
  /** The directory that it runs in. */
  readonly cwd: string;
}

/** What is heard of a command while it runs. */
export interface ShellEars {
  started(pid: number): void;
  /** Its two outputs as they arrive. While the promise is open, nothing more is read of it. */
  output(text: string): Promise<void> | undefined;
}

export interface ShellExit {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Why it could not be run at all, in a sentence. */
  readonly error: string | null;
}

/**
 * Notes down each process before it is there, so that the next server finds and ends what this one
 * leaves behind when it is killed (P5). The agents' marks can be given as this.
 */
export interface ShellMarks {
  /** Rejects if nothing can be noted down; then nothing is run. */
  place(): Promise<ShellMark>;
}

interface ShellMark {
  /** The process carries these, and so does all that it starts. */
  readonly variables: Readonly<Record<string, string>>;
  /** Which process it came to be. */
  confirm(pid: number): Promise<void>;
  /** Ends whatever still carries it, such as daemons that left their group, and forgets it. */
  end(): Promise<void>;
}

import type { JsonObject } from "../../core/json.ts";
import type { TerminalExit } from "../../core/terminal-output.ts";

/**
 * A piece of what a person who reads a session later is told, before it is put into any format.
 * Texts in it are as people, agents and tools wrote them: a format makes them harmless.
 */
export type Passage =
  | Part
  | { readonly kind: "said"; readonly by: Speaker; readonly markdown: string }
  | { readonly kind: "attached"; readonly by: Speaker; readonly name: string }
  | { readonly kind: "meanwhile"; readonly markdowns: readonly string[] }
  | { readonly kind: "thought"; readonly markdown: string }
  | ToolCall
  | ShellCommand
  | { readonly kind: "fact"; readonly about: string; readonly words: Words }
  | { readonly kind: "sentence"; readonly words: Words }
  | { readonly kind: "note"; readonly text: string }
  | Failure;

/** A prompt and what came of it. It is continued if something of another prompt came between. */
export interface Part {
  readonly kind: "part";
  readonly number: number;
  readonly atMs: number;
  readonly isContinued: boolean;
}

export type Speaker = "user" | "agent";

export interface ToolCall {
  readonly kind: "tool";
  readonly name: string;
  /** Of the tool: `read`, `edit`, and so on. */
  readonly sort: string | null;
  readonly status: string | null;
  /** All that its agent said of the call. */
  readonly update: JsonObject;
}

export interface ShellCommand {
  readonly kind: "shell";
  readonly command: string;
  readonly output: string;
  readonly end: string;
}

/** How a command ended, for people. */
export function exitText({ exitCode, signal }: TerminalExit): string {
  return exitCode === null ? (signal ?? "aborted") : `exit code ${exitCode}`;
}

export interface Failure {
  readonly kind: "failure";
  readonly code: string;
  readonly message: string;
  readonly isPartial: boolean;
}

/** A sentence of ours with texts of others in it: those are shown as code, or as they are. */
export type Words = readonly Word[];

export type Word = string | { readonly code: string } | { readonly plain: string };

export const code = (text: string): Word => ({ code: text });

export const plain = (text: string): Word => ({ plain: text });

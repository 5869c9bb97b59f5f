import type { ContentBlock } from "../core/agent-update.ts";
import type { JsonObject } from "../core/json.ts";
import type { CommandData, CommandType, Idempotency } from "../core/session/command.ts";
import type { Outcome } from "./actor/written.ts";

/** A command that has no actor and no time yet. */
export type ClientCommand = {
  [Type in CommandType]: { readonly type: Type } & Readonly<CommandData[Type]>;
}[CommandType];

/** What a client wants done. */
export interface PromptRequest {
  readonly content: readonly ContentBlock[];
  /** Null is as long as the server allows. */
  readonly deadlineMs: number | null;
  /** Passed to the agent as it is. */
  readonly params: JsonObject | null;
  readonly isRetry: boolean;
  readonly idempotency: Idempotency;
}

export interface SteerRequest {
  readonly messageId: string;
  readonly content: readonly ContentBlock[];
}

/** An admitted prompt, and what to call when its client knows of it. */
export interface AdmittedPrompt extends Outcome {
  readonly eventEpoch: string;
  answered(): void;
}

/** A session as a file, in pieces. */
export interface ExportedFile {
  readonly mediaType: string;
  readonly pieces: AsyncIterable<string>;
}

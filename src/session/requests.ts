import type { ContentBlock } from "../core/agent-update.ts";
import type { JsonObject } from "../core/json.ts";
import type { CommandData, CommandType, Idempotency } from "../core/session/command.ts";
import type { SessionName } from "../core/session/name.ts";
import type { Outcome } from "./actor/written.ts";
import type { VerdictHold } from "./bus/streams.ts";

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
  /** What its session is called from here on, if it has no name. */
  readonly name?: SessionName;
}

export interface SteerRequest {
  readonly messageId: string;
  readonly content: readonly ContentBlock[];
}

/** An admitted prompt, and the hold on its verdict until its client knows of the answer. */
export interface AdmittedPrompt extends Outcome {
  readonly eventEpoch: string;
  readonly hold: Pick<VerdictHold, "isAwaited" | "answered">;
}

import type { ClientId, PromptId, SessionId } from "../core/id.ts";
import type { TurnCost } from "../core/session/credit-event.ts";

/** The state of a prompt, or how it ended, as `GET …/turns` answers. */
export interface TurnStatus {
  readonly sessionId: SessionId;
  readonly state: "idle" | "queued" | "running" | "completed" | "cancelled" | "error";
  readonly promptId?: PromptId;
  readonly promptText?: string;
  readonly promptTextTruncated?: true;
  readonly queuedAt?: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
  readonly stopReason?: string;
  readonly error?: { readonly message: string; readonly code: string; readonly errorKind?: string };
  /** Of one that has ended; null if it had no price. */
  readonly cost?: TurnCost | null;
  readonly resultText?: string;
  readonly resultTruncated?: true;
  readonly resultCode?: "RESULT_TEXT_TRUNCATED";
  readonly originatorClientId?: ClientId;
}

import type { AskId, ClientId, SessionId, UserId } from "../core/id.ts";
import type { JsonObject } from "../core/json.ts";
import type { SessionName } from "../core/session/name.ts";
import type { Session } from "../core/session/state.ts";
import type { SessionState } from "../core/status.ts";

/** A session as lists show it. `status` is Fermata's addition to the wire. */
export interface SessionSummary {
  readonly sessionId: SessionId;
  readonly workspaceCwd: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly displayName?: string;
  /** What may be written for its id. Ours. */
  readonly name?: SessionName;
  readonly parentSessionId?: SessionId;
  readonly sourceType?: string;
  readonly sourceId?: string;
  /** The agent that it is set to, where that is known. Ours. */
  readonly agent?: string;
  /** The user who made it, where that is known. Ours. */
  readonly createdBy?: UserId;
  readonly clientCount: number;
  readonly hasActivePrompt: boolean;
  readonly status: SessionState;
  /** Closed by a client, and to be loaded before it can be used. */
  readonly closed?: true;
}

/** Adds what is known only of a session in memory. */
export interface LiveSummary extends SessionSummary {
  readonly isWaitingForPermission: boolean;
  readonly isWaitingForUserQuestion: boolean;
  readonly pendingInteractionCount: number;
  readonly pendingInteractions: readonly PendingInteraction[];
  readonly hasTurnError: boolean;
  readonly turnError?: NonNullable<Session["lastTurnError"]>;
}

/** An attached client, with its last heartbeat. */
export interface SeenClient {
  readonly clientId: ClientId;
  readonly lastSeenAt: number;
}

export interface InteractionOption {
  readonly optionId: string;
  readonly label?: string;
  readonly kind?: string;
}

interface InteractionBase {
  readonly requestId: AskId;
  readonly createdAt: string;
  readonly options: readonly InteractionOption[];
}

/** An open ask as lists show it. */
export type PendingInteraction =
  | (InteractionBase & { readonly kind: "permission"; readonly action: JsonObject })
  | (InteractionBase & {
      readonly kind: "user_question";
      readonly title?: string;
      readonly questions: readonly JsonObject[];
    });

/** An open ask, with the session that it is of. */
export type ListedAsk = PendingInteraction & {
  readonly sessionId: SessionId;
  readonly workspaceCwd: string;
  readonly displayName?: string;
  readonly name?: SessionName;
};

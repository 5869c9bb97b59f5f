import {
  EVENTS_KEPT_MAX,
  PROMPTS_PENDING_MAX,
  REPLAY_COMPACTED_BYTES_MAX,
  REPLAY_JOURNAL_BYTES_MAX,
  REPLAY_JOURNAL_ENTRIES_MAX,
  SESSION_IDLE_MS,
  SESSION_REAP_MS,
  SESSIONS_LIVE_MAX,
} from "../core/limits.ts";
import type { MediationPolicy } from "../core/policy/ask.ts";
import { type AgentAsking, ASKS_BY_DEFAULT } from "../core/policy/asking.ts";

/** What whoever runs the server may choose about its sessions. */
export interface SessionSettings {
  /** The agent of a session of which nothing but its manifest can be read (P6). */
  readonly defaultAgent: string;
  /** The agents that a session can be given, by name. */
  readonly agentNames: readonly string[];
  /** Which of them ask before they act, and how; of others it is not known. */
  readonly asking: ReadonlyMap<string, AgentAsking>;
  readonly policy: MediationPolicy;
  readonly quorum: number | null;
  /** How long people have for an ask; null is as long as they like. */
  readonly askMs: number | null;
  /** How long an agent has to stop when it was told to, before it is ended. */
  readonly settleMs: number;
  /** How long a prompt may take in all, unless it asks for less; null is as long as it takes. */
  readonly promptMs: number | null;
  /** Prompts of one session without a verdict; null is as many as their bytes allow. */
  readonly pendingPromptsMax: number | null;
  /** Live sessions of one tenant and workspace; null is as many as come. */
  readonly sessionsLiveMax: number | null;
  /** How long a session may be unused before it is let go; null is for ever. */
  readonly idleMs: number | null;
  /** How often that is looked at. */
  readonly reapMs: number;
  /** Raw events that are kept of a session for exact reconnects. */
  readonly eventsKeptMax: number;
  readonly replay: ReplayBounds;
}

/** How much a client is shown at most that loads a session. */
export interface ReplayBounds {
  readonly compactedBytesMax: number;
  readonly journalEventsMax: number;
  readonly journalBytesMax: number;
}

export const DEFAULT_SESSION_SETTINGS: SessionSettings = {
  defaultAgent: "echo",
  agentNames: ["echo"],
  asking: new Map([["echo", ASKS_BY_DEFAULT]]),
  policy: "first-responder",
  quorum: null,
  askMs: 5 * 60 * 1_000,
  settleMs: 10_000,
  promptMs: null,
  pendingPromptsMax: PROMPTS_PENDING_MAX,
  sessionsLiveMax: SESSIONS_LIVE_MAX,
  idleMs: SESSION_IDLE_MS,
  reapMs: SESSION_REAP_MS,
  eventsKeptMax: EVENTS_KEPT_MAX,
  replay: {
    compactedBytesMax: REPLAY_COMPACTED_BYTES_MAX,
    journalEventsMax: REPLAY_JOURNAL_ENTRIES_MAX,
    journalBytesMax: REPLAY_JOURNAL_BYTES_MAX,
  },
};

import { randomUUID } from "node:crypto";
import type { Agents, OwnAgentCalls } from "../agent/agent.ts";
import {
  type AskId,
  type ChildId,
  type PromptId,
  parseAskId,
  parseChildId,
  parsePromptId,
  parseSessionId,
  parseShellId,
  parseTurnId,
  type SessionId,
  type ShellId,
  type TurnId,
} from "../core/id.ts";
import {
  EVENTS_KEPT_MAX,
  PROMPTS_PENDING_MAX,
  REPLAY_COMPACTED_BYTES_MAX,
  REPLAY_JOURNAL_BYTES_MAX,
  REPLAY_JOURNAL_ENTRIES_MAX,
  SESSION_IDLE_MS,
  SESSION_REAP_MS,
  SESSIONS_LIVE_MAX,
  SHUTDOWN_DRAIN_MS,
  TURN_BYTES_MAX,
} from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import type { MediationPolicy } from "../core/policy/ask.ts";
import { type AgentAsking, ASKS_BY_DEFAULT } from "../core/policy/asking.ts";
import type { Actor } from "../core/session/command.ts";
import type { ExtensionCatalog } from "../extension/catalog.ts";
import type { ThreadSource } from "../extension/thread/threads.ts";
import type { WorkflowCatalog } from "../extension/workflow/index.ts";
import type { Loader } from "../loader/loader.ts";
import type { Clock } from "../platform/clock.ts";
import type { Holder, SecretGuard, SessionStore } from "../store/index.ts";
import type { Tools } from "../tool/tool.ts";
import type { Toolboxes } from "../tool/toolbox.ts";
import type { OpenTurns } from "./actor/open-turns.ts";
import type { ExportWriter } from "./export/export.ts";
import type { KnownSnapshots } from "./known-snapshots.ts";
import type { Meter } from "./meter/meter.ts";
import type { ShellRunner } from "./side/shell-command.ts";
import type { TenantDisk } from "./tenant/tenant-disk.ts";
import type { TenantGate } from "./tenant/tenant-gate.ts";
import type { TenantPolicies } from "./tenant/tenant-policies.ts";

/** Everything that live sessions reach the world through; a simulation gives them another one. */
export interface SessionWorld {
  readonly store: SessionStore;
  /** Who is at work for which tenant, and which of them is being deleted. */
  readonly tenants: TenantGate;
  readonly agents: Agents;
  /** What agents are asked outside of sessions; absent where there are no such agents. */
  readonly agentCalls?: OwnAgentCalls;
  /** The shares of the disk; without it there are none. */
  readonly disk?: TenantDisk;
  /** The memory of all open turns together. */
  readonly turns: OpenTurns;
  /** Skills and personas that sessions share. */
  readonly known: KnownSnapshots;
  /** Reads skill and persona files. */
  readonly loader: Loader;
  /** What skills can run without a model. */
  readonly tools: Tools;
  /** Tools of the server for the models of agents; without it they are offered none. */
  readonly toolboxes?: Toolboxes;
  /** Sets credits aside for turns, and knows what they cost. */
  readonly meter: Meter;
  /** Runs the command lines of clients. */
  readonly shell: ShellRunner;
  /** Who owns the sessions that are opened here. */
  readonly holder: Holder;
  readonly clock: Clock;
  /** Resolves when all else that is ready has had its turn: long work lets others go first. */
  yield(): Promise<void>;
  readonly ids: FreshIds;
  /** A text without the secrets that are known; the very same text if there are none in it. */
  redact(text: string): string;
  /** Finds secrets that go over the border of two chunks. */
  readonly borders: Pick<SecretGuard, "openTail" | "endAcross">;
  readonly settings: SessionSettings;
  /** Where the extensions of sessions come from; without it no session has any. */
  readonly extensions?: { readonly catalog: ExtensionCatalog; readonly threads: ThreadSource };
  /** Where the workflows of sessions come from; without it no session has one. */
  readonly workflows?: WorkflowCatalog;
  /** Writes exports; where it is absent, each has a process of its own. */
  readonly exports?: ExportWriter;
  /** What binds users; absent where callers need no token, and all of them are the operator. */
  readonly policies?: TenantPolicies;
  /** Something that the operator may want to know. */
  readonly log: Log;
  /** What happens all the time; left out where it is not wanted. */
  trace?(what: string, about: Readonly<Record<string, string | number>>): void;
}

export interface FreshIds {
  session(): SessionId;
  prompt(): PromptId;
  turn(): TurnId;
  ask(): AskId;
  shell(): ShellId;
  child(): ChildId;
  epoch(): string;
}

/** What every command has: when it was given, and by whom. */
export function stampedBy<By extends Actor>(clock: Pick<Clock, "nowMs">, actor: By) {
  return { atMs: clock.nowMs(), actor };
}

/** What the operator may choose about sessions. */
export interface SessionSettings {
  /** The agent of a session of which nothing but its manifest can be read (P6). */
  readonly defaultAgent: string;
  /** The agents that a session can be given, by name. */
  readonly agentNames: readonly string[];
  /** Whether clients may run shells of the server's, where callers need a token. */
  readonly enableShell: boolean;
  /** Which of them ask before they act, and how; of others it is not known. */
  readonly asking: ReadonlyMap<string, AgentAsking>;
  readonly policy: MediationPolicy;
  readonly quorum: number | null;
  /** Child sessions of one session at the same time; with none its agent cannot delegate. */
  readonly childrenOpenMax: number;
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
  /** How long running turns have to finish when the server stops; 0 is not at all. */
  readonly drainMs: number;
  /** Raw events that are kept of a session for exact reconnects. */
  readonly eventsKeptMax: number;
  readonly replay: ReplayBounds;
  readonly turnMemory: TurnMemoryBounds;
}

/** How much memory open turns may take: all together, and each of them in bytes of its events. */
export interface TurnMemoryBounds {
  readonly allBytesMax: number;
  readonly eachBytesMax: number;
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
  enableShell: false,
  asking: new Map([["echo", ASKS_BY_DEFAULT]]),
  policy: "first-responder",
  quorum: null,
  childrenOpenMax: 0,
  askMs: null,
  settleMs: 10_000,
  promptMs: null,
  pendingPromptsMax: PROMPTS_PENDING_MAX,
  sessionsLiveMax: SESSIONS_LIVE_MAX,
  idleMs: SESSION_IDLE_MS,
  reapMs: SESSION_REAP_MS,
  drainMs: SHUTDOWN_DRAIN_MS,
  eventsKeptMax: EVENTS_KEPT_MAX,
  replay: {
    compactedBytesMax: REPLAY_COMPACTED_BYTES_MAX,
    journalEventsMax: REPLAY_JOURNAL_ENTRIES_MAX,
    journalBytesMax: REPLAY_JOURNAL_BYTES_MAX,
  },
  turnMemory: { allBytesMax: Number.POSITIVE_INFINITY, eachBytesMax: TURN_BYTES_MAX },
};

export const RANDOM_IDS: SessionWorld["ids"] = {
  session: fresh(parseSessionId),
  prompt: fresh(parsePromptId),
  turn: fresh(parseTurnId),
  ask: fresh(parseAskId),
  shell: fresh(parseShellId),
  child: fresh(parseChildId),
  epoch: () => randomUUID(),
};

function fresh<Id>(parse: (text: string) => Id | null): () => Id {
  return () => {
    const id = parse(randomUUID());
    if (id === null) throw new Error("a UUID is no id any more");
    return id;
  };
}

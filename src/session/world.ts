import type { Agents } from "../agent/agent.ts";
import type { AskId, PromptId, SessionId, ShellId, TenantId, TurnId } from "../core/id.ts";
import type { Log } from "../core/log.ts";
import type { Loader } from "../loader/loader.ts";
import type { Holder, SessionStore } from "../store/index.ts";
import type { Tools } from "../tool/tool.ts";
import type { Meter } from "./meter/meter.ts";
import type { SessionSettings } from "./settings.ts";
import type { ShellRunner } from "./side/shell-command.ts";
import type { TenantGate } from "./tenant/tenant-gate.ts";

/** Everything that live sessions reach the world through; a simulation gives them another one. */
export interface SessionWorld {
  readonly store: SessionStore;
  /** Who is at work for which tenant, and which of them is being deleted. */
  readonly tenants: TenantGate;
  readonly agents: Agents;
  /** Reads skill and persona files. */
  readonly loader: Loader;
  /** What skills can run without a model. */
  readonly tools: Tools;
  /** Sets credits aside for turns, and knows what they cost. */
  readonly meter: Meter;
  /** Runs the command lines of clients. */
  readonly shell: ShellRunner;
  /** Who owns the sessions that are opened here. */
  readonly holder: Holder;
  readonly clock: Clock;
  readonly ids: FreshIds;
  /** A text without the secrets that are known; the very same text if there are none in it. */
  redact(text: string): string;
  readonly settings: SessionSettings;
  /** Something that a person who runs this server may want to know. */
  readonly log: Log;
  /** What happens all the time; left out where nobody wants to know it. */
  trace?(what: string, about: Readonly<Record<string, string | number>>): void;
}

export interface Clock {
  nowMs(): number;
  /** Runs something later, unless it is called off. */
  after(ms: number, act: () => void): CallOff;
}

export type CallOff = () => void;

interface FreshIds {
  session(): SessionId;
  prompt(): PromptId;
  turn(): TurnId;
  ask(): AskId;
  shell(): ShellId;
  epoch(): string;
}

export interface SessionPlace {
  readonly tenantId: TenantId;
  readonly sessionId: SessionId;
}

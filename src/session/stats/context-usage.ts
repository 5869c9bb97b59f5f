import type { SessionId } from "../../core/id.ts";
import type { Session } from "../../core/session/state.ts";
import { type ContextFill, filled, type Tally } from "./tally.ts";

/** The wire's `GET …/context-usage`. */
export interface ContextUsageAnswer {
  readonly v: 1;
  readonly sessionId: SessionId;
  readonly workspaceCwd: string;
  readonly usage: {
    readonly modelName: string;
    readonly totalTokens: number;
    readonly contextWindowSize: number;
    readonly breakdown: typeof NO_BREAKDOWN;
    readonly builtinTools: readonly never[];
    readonly mcpTools: readonly never[];
    readonly memoryFiles: readonly never[];
    readonly skills: readonly never[];
    readonly isEstimated: true;
    readonly showDetails: boolean;
  };
  readonly formattedText: string;
}

/** Only an agent knows what its context consists of, and ACP has no words for it. */
const NO_BREAKDOWN = {
  systemPrompt: 0,
  builtinTools: 0,
  mcpTools: 0,
  memoryFiles: 0,
  skills: 0,
  messages: 0,
  freeSpace: 0,
  autocompactBuffer: 0,
};

/**
 * How full the agent's context is: as the turn at work reports it, or else as it was last told.
 * The state forgets it with its turn, so it comes from the tally.
 */
export function contextUsageAnswer(
  session: Session,
  { context }: Tally,
  showDetails: boolean,
): ContextUsageAnswer {
  const { sessionId, fixed, chosen, connection } = session;
  const live = connection.turn.lastContextUsage;
  const fill = live === null ? context : filled(context, live);
  const used = fill?.used ?? 0;
  const size = fill?.size ?? 0;
  return {
    v: 1,
    sessionId,
    workspaceCwd: fixed.workspaceCwd,
    usage: {
      modelName: fill?.model ?? chosen.modelConfig.modelId ?? "unknown",
      totalTokens: used,
      contextWindowSize: size,
      breakdown: { ...NO_BREAKDOWN, freeSpace: Math.max(0, size - used) },
      builtinTools: [],
      mcpTools: [],
      memoryFiles: [],
      skills: [],
      isEstimated: true,
      showDetails,
    },
    formattedText: inWords(fill),
  };
}

function inWords(fill: ContextFill | null): string {
  const { used = null, size = null } = fill ?? {};
  if (used === null) return "The agent has not said how full its context is.";
  const figure = used.toLocaleString("en-US");
  if (size === null || size === 0) return `The agent's context has ${figure} tokens.`;
  const percent = Math.round((used / size) * 100);
  const all = size.toLocaleString("en-US");
  return `The agent's context has ${figure} of ${all} tokens (${percent} %).`;
}

import type { AgentListener } from "../../agent/agent.ts";
import type { AgentUpdate } from "../../core/agent-update.ts";
import type { TurnId } from "../../core/id.ts";
import type { Result } from "../../core/result.ts";
import type { RunningPrompt, Session } from "../../core/session/state.ts";
import type { StageTurn } from "../workflow/stage-turn.ts";
import type { Stages } from "../workflow/workflow-side.ts";
import type { SessionWorld } from "../world.ts";
import type { AgentReports } from "./agent-reports.ts";
import { announceSkill, type CalledSkill } from "./called-skill.ts";
import type { OpenAsks } from "./open-asks.ts";
import { ToolTurn, toolReports } from "./tool-turn.ts";

export interface OwnTurnDeps {
  readonly world: SessionWorld;
  readonly reports: AgentReports;
  readonly asks: OpenAsks;
  /** Null where the session can have no workflow. */
  readonly stages: Stages | null;
  isOver(): boolean;
}

/** What a stage needs of the session's agent. */
interface StageHands {
  readonly canComplete: boolean;
  give(text: string): Result<void>;
  stop(): void;
}

/**
 * A turn of a session that the server runs itself: that of a tool, of which the agent hears
 * nothing, or that of a workflow's stage, in which the agent has one part.
 */
export class OwnTurn {
  readonly #deps: OwnTurnDeps;
  #tool: ToolTurn | null = null;
  #stage: StageTurn | null = null;

  constructor(deps: OwnTurnDeps) {
    this.#deps = deps;
  }

  dispatch(running: RunningPrompt, called: CalledSkill, { fixed, chosen }: Session) {
    const { world, reports, asks } = this.#deps;
    announceSkill(reports, running, called);
    const place = { workspaceCwd: fixed.workspaceCwd, cwd: chosen.currentCwd };
    const heard = toolReports(reports, asks, running, () => this.#deps.isOver());
    this.#tool = new ToolTurn(heard, world, place, running.turnId);
    void this.#tool.run(called);
  }

  /** Answers whether it is a turn of a stage. */
  beginStage(running: RunningPrompt, hands: StageHands): boolean {
    const { stages, reports } = this.#deps;
    if (running.stage === undefined || stages === null) return false;
    const { canComplete, give, stop } = hands;
    this.#stage = stages.begin(running, {
      canComplete,
      prompt: give,
      stop,
      report: (report) => {
        if (!this.#deps.isOver()) reports.status(report);
      },
    });
    return true;
  }

  /** The turn was told to stop. */
  cancel() {
    this.#tool?.cancel();
    this.#stage?.cancel();
  }

  /** The agent is gone, and the turn with it. */
  end() {
    this.#tool?.cancel();
    this.#stage?.drop();
  }

  heardUpdate(update: AgentUpdate) {
    this.#stage?.heardUpdate(update);
  }

  /** In a stage the end of the agent's turn is not yet that of the session's. */
  status(report: Parameters<AgentListener["status"]>[0]) {
    const isEnd = report.status === "turn_complete" || report.status === "turn_error";
    const stage = isEnd ? this.#stageOf(report.turnId) : null;
    if (isEnd && stage !== null) stage.heardEnd(report);
    else this.#deps.reports.status(report);
  }

  #stageOf(turnId: TurnId | null): StageTurn | null {
    return this.#stage?.turnId === turnId ? this.#stage : null;
  }
}

/** The prompt of a stage, with what its agent is asked in it. */
export function askedFor(running: RunningPrompt, text: string): RunningPrompt {
  return { ...running, content: [{ type: "text", text }] };
}

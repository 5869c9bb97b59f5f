import { promptText } from "../../core/agent-update.ts";
import { refusal } from "../../core/error.ts";
import type { PromptId } from "../../core/id.ts";
import { SERVER, type TurnStart } from "../../core/session/command.ts";
import type { SlashWork, WaitingPrompt } from "../../core/session/state.ts";
import type { TurnRuling } from "../../extension/session-extensions.ts";
import type { TryAgain } from "../actor/turn-queue.ts";
import type { SessionSeat } from "../participant.ts";
import { type SessionWorld, stampedBy } from "../world.ts";

type TurnExtras = Pick<TurnStart, "slash" | "told">;

interface SlashFound {
  readonly work: SlashWork;
}

/** The extensions of a session, as far as they have a say before a turn. */
export interface TurnJudges {
  readonly judgesTurns: boolean;
  judgeTurn(prompt: { readonly promptId: PromptId; readonly text: string }): Promise<TurnRuling>;
}

/**
 * Begins a turn unless an extension denies its prompt, which then has its verdict; with what they
 * have the agent told in front of it. They are asked once about a prompt, however long it waits
 * for credit after that.
 */
export function judgedTurns(
  world: Pick<SessionWorld, "clock">,
  seat: Pick<SessionSeat, "submit">,
  judges: TurnJudges | null,
  begin: (prompt: WaitingPrompt, extras: TurnExtras, again: TryAgain) => void,
) {
  let asked: PromptId | null = null;
  let ruling: TurnRuling | null = null;
  return (prompt: WaitingPrompt, slash: SlashFound | null, again: TryAgain) => {
    const { promptId, content } = prompt;
    const work = slash === null ? {} : { slash: slash.work };
    if (judges === null || !judges.judgesTurns) return begin(prompt, work, again);
    if (asked === promptId) {
      const told = ruling?.told ?? [];
      if (ruling?.denied === null) begin(prompt, told.length > 0 ? { ...work, told } : work, again);
      return;
    }
    asked = promptId;
    ruling = null;
    void judges.judgeTurn({ promptId, text: promptText(content) }).then((found) => {
      // Another prompt may be next by now: then this one was taken back.
      if (asked !== promptId) return;
      ruling = found;
      if (found.denied === null) return void again();
      const { extension, reason } = found.denied;
      const why = refusal("prompt_denied", { extension, reason: reason || "it gives no reason" });
      const by = stampedBy(world.clock, SERVER);
      void seat.submit({ ...by, type: "refuse_prompt", promptId, why });
    });
  };
}

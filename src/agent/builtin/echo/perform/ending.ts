import type { Arguments } from "../language.ts";
import type { Ending, Step, Turn } from "../turn.ts";

/** Directives about how, when and whether the turn ends. */

export function sleep(turn: Turn, { ms }: Arguments["sleep"]): Step {
  return turn.pause(ms);
}

export function hang(turn: Turn): Step {
  return turn.untilCancelled();
}

export function ignoreCancel(turn: Turn): Step {
  turn.ignoresCancel = true;
  return undefined;
}

export function refuse(): Ending {
  return { kind: "stop", stopReason: "refusal" };
}

export function stop(_: Turn, { stopReason }: Arguments["stop"]): Ending {
  return { kind: "stop", stopReason };
}

export function fail(_: Turn, { code, message }: Arguments["fail"]): Ending {
  return { kind: "error", error: { code, message } };
}

export function twice(turn: Turn): Step {
  turn.answers = 2;
  return undefined;
}

import { SESSIONS_NAMED_MAX } from "../../core/limits.ts";
import type { Draining } from "../../session/life/ending.ts";
import type { SessionLocator } from "../../store/index.ts";

/** What is left of a server. */
export interface Stopped {
  /** The sessions whose turns did not end by themselves. */
  readonly cutOff: readonly string[];
  /** How many sessions are stored; null if that is not known. */
  readonly kept: number | null;
}

/** Tells the operator what a stop waits for: first all of it, then what is left of it. */
export function drainTeller(drainMs: number, say: (sentence: string) => void) {
  let tell = (draining: Draining) => {
    tell = ({ working }) => {
      if (working.length > 0) say(`still waiting for ${turnsOf(working)}`);
    };
    for (const sentence of firstWords(draining, drainMs)) say(sentence);
  };
  return (draining: Draining) => tell(draining);
}

function firstWords({ working, waitingTurns }: Draining, drainMs: number): string[] {
  const open = waitingTurns === 0 ? [] : [`cutting off ${turns(waitingTurns)} with an open ask`];
  if (working.length === 0) return ["stopping", ...open];
  return [
    `stopping, but first waiting up to ${drainMs / 1_000} s for ${turnsOf(working)}`,
    "press Ctrl-C again to cut off what still runs",
    ...open,
  ];
}

/** The last that a server says: what was lost, what is kept, where, and how to go on with it. */
export function lastWords({ cutOff, kept }: Stopped, place: string | null): string[] {
  const lost = cutOff.length === 0 ? [] : [`cut off ${turnsOf(cutOff)}`];
  return [...lost, `stopped; ${remains(kept, place)}`];
}

function remains(kept: number | null, place: string | null): string {
  if (place === null) return "its sessions were only in memory, and are gone";
  if (kept === 0) return `there are no sessions in ${place}`;
  const sessions = kept === 1 ? "1 session is" : `${kept ?? "all"} sessions are`;
  return `${sessions} kept in ${place}; start the server again to go on`;
}

/** How many sessions there are, by the notes of them; null if those cannot be read. */
export async function countOf(notes: SessionLocator): Promise<number | null> {
  const tenants = await notes.tenants();
  if (!tenants.ok) return null;
  let count = 0;
  for (const tenantId of tenants.value) {
    const noted = await notes.sessionsOf(tenantId);
    if (!noted.ok) return null;
    count += noted.value.length;
  }
  return count;
}

function turns(count: number): string {
  return count === 1 ? "1 turn" : `${count} turns`;
}

/** Each of these sessions has one; the ids are cut where it is still clear which is meant. */
function turnsOf(sessions: readonly string[]): string {
  const shown = sessions.slice(0, SESSIONS_NAMED_MAX).map((id) => id.slice(0, 8));
  const more = sessions.length - shown.length;
  const ids = more > 0 ? [...shown, `${more} more`] : shown;
  const noun = sessions.length === 1 ? "session" : "sessions";
  return `${turns(sessions.length)} (${noun} ${ids.join(", ")})`;
}

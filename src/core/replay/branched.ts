import type { SessionId } from "../id.ts";
import { EVENT_TABLE, isEventType } from "../session/event-table.ts";
import type { LogEvent } from "./compact.ts";
import { eventTexts } from "./stored.ts";

/** What a branch has of a folded turn of its source. */
export interface BranchedTurn {
  /** Each as its text, in the branch's own name and numbered on from its log; perhaps none. */
  readonly events: readonly string[];
  /** How many of them complete a turn of the conversation. */
  readonly turnsCompleted: number;
}

/** Whose turn it is, whose it becomes, and the number of its first event there. */
interface BranchOrder {
  readonly from: SessionId;
  readonly to: SessionId;
  readonly firstId: number;
}

/**
 * A folded turn as a branch has it: what was said and done, and not what its source was set to, its
 * clients or its costs. A long conversation has tens of thousands of events, so an event that
 * begins as we write them is copied as text, with another beginning; any other is parsed.
 */
export function branchedTurn(text: string, { from, to, firstId }: BranchOrder): BranchedTurn {
  const ofSource = `,"data":{"sessionId":${JSON.stringify(from)}`;
  const ofBranch = `,"data":{"sessionId":${JSON.stringify(to)}`;
  const events: string[] = [];
  let turnsCompleted = 0;
  for (const event of eventTexts({ text })) {
    const [start = "", kind = "", type = ""] = BEGINNING.exec(event) ?? [];
    const isUsual = start !== "" && event.startsWith(ofSource, start.length);
    if (!isCopied(isUsual ? type : parsed(event).type)) continue;
    const id = firstId + events.length;
    const rest = event.slice(start.length + ofSource.length);
    events.push(isUsual ? `{"id":${id}${kind}${ofBranch}${rest}` : inSession(event, to, id));
    if (completesTurn(event)) turnsCompleted += 1;
  }
  return { events, turnsCompleted };
}

/** As `JSON.stringify` writes a numbered event of ours, up to its data. */
const BEGINNING = /^\{"id":\d+(,"v":\d+,"type":"([a-z_]+)")/;

function isCopied(type: string): boolean {
  return isEventType(type) && EVENT_TABLE[type].copied;
}

function inSession(text: string, sessionId: SessionId, id: number): string {
  const event = parsed(text);
  return JSON.stringify({ ...event, id, data: { ...event.data, sessionId } });
}

/** The verdict of a command completes its prompt, and no turn. */
function completesTurn(text: string): boolean {
  if (!text.includes('"type":"turn_complete"')) return false;
  const { type, data } = parsed(text);
  return type === "turn_complete" && data.turnId !== undefined;
}

/** What a store gives back is what we gave it, under a checksum: here a numbered event. */
function parsed(text: string): LogEvent {
  return JSON.parse(text);
}

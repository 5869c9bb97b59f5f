import type { ChildId } from "../../core/id.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import type { SessionEvent } from "../../core/session/event.ts";

/** Events of a session by themselves, and those of each of its children apart. */
export interface Apart {
  /** In JSON. */
  readonly own: readonly string[];
  readonly children: ChildSections;
}

/** The events of children, as one section for each, in the order in which they began. */
export class ChildSections {
  readonly #sections = new Map<ChildId, ChildSection>();

  /** False for an event of the session's own, which is in no section. */
  take(event: LogEvent, text: string): boolean {
    const { childId } = event;
    if (childId === undefined) return false;
    const section = this.#sections.get(childId) ?? { begin: null, end: null, texts: [] };
    const begin = event.type === "child_session_started" ? event : section.begin;
    const end = event.type === "child_session_ended" ? event : section.end;
    section.texts.push(text);
    this.#sections.set(childId, { begin, end, texts: section.texts });
    return true;
  }

  get isEmpty(): boolean {
    return this.#sections.size === 0;
  }

  /** Each in JSON, piece by piece: what it was and came to, and its events as they are stored. */
  *pieces(): Generator<string> {
    let isFirst = true;
    for (const [childId, section] of this.#sections) {
      yield `${isFirst ? "" : ","}${headOf(childId, section).slice(0, -1)},"events":[`;
      isFirst = false;
      yield section.texts.join(",");
      yield "]}";
    }
  }
}

interface ChildSection {
  /** Null where it is not kept any more. */
  readonly begin: SessionEvent<"child_session_started"> | null;
  /** Null while it is at work. */
  readonly end: SessionEvent<"child_session_ended"> | null;
  readonly texts: string[];
}

function headOf(childId: ChildId, { begin, end }: ChildSection): string {
  const { title = null, agent = null, model = null, task = null, readOnly } = begin?.data ?? {};
  const { state = "Active", text = null, error, usage = null } = end?.data ?? {};
  return JSON.stringify({
    ...{ childId, promptId: begin?.promptId ?? end?.promptId ?? null },
    ...{ title, agent, model, task, readOnly: readOnly ?? null },
    startedAtMs: begin?._meta.serverTimestamp ?? null,
    endedAtMs: end?._meta.serverTimestamp ?? null,
    ...{ state, text, ...(error && { error }), usage },
  });
}

/** Whether there may be events of children in this text: most have none, and stay as they are. */
export function mayTellOfChildren(text: string): boolean {
  return text.includes('"childId"');
}

/** The events of a turn, with those of its children apart. */
export function apart(events: readonly LogEvent[]): Apart {
  const children = new ChildSections();
  const own = events.flatMap((event) => {
    const text = JSON.stringify(event);
    return children.take(event, text) ? [] : [text];
  });
  return { own, children };
}

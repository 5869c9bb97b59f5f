import { isObject } from "../json.ts";
import { joinedWords, type LogEvent, type UpdateEvent } from "./compact.ts";

/** Words that may go on: the event that began them, the latest one, and the texts since. */
interface OpenWords {
  readonly first: UpdateEvent;
  latest: UpdateEvent;
  readonly texts: string[];
}

/**
 * The events of a turn at work, with what its agent says held once: words come in many thousands of
 * events that differ in nothing but their text, number and time. Folding what is here comes to the
 * same as folding all that was added.
 */
export class OpenLog {
  readonly #events: LogEvent[] = [];
  #words: OpenWords | null = null;

  /** Answers whether the event only goes on with the words before it. */
  add(event: LogEvent): boolean {
    const text = event.type === "session_update" ? wordsIn(event) : null;
    if (event.type !== "session_update" || text === null) {
      this.#join();
      this.#words = null;
    } else if (this.#words !== null && goesOn(this.#words.latest, event)) {
      this.#words.latest = event;
      this.#words.texts.push(text);
      return true;
    } else {
      this.#join();
      this.#words = { first: event, latest: event, texts: [] };
    }
    this.#events.push(event);
    return false;
  }

  /** In order. Words that went on are one event, with the number and the time of the latest. */
  get events(): readonly LogEvent[] {
    this.#join();
    return this.#events;
  }

  #join() {
    const words = this.#words;
    if (words === null || words.texts.length === 0) return;
    const joined = joinedWords(words.first, words.latest, words.texts.join(""));
    this.#events[this.#events.length - 1] = joined;
    this.#words = { first: joined, latest: joined, texts: [] };
  }
}

const WORDS: ReadonlySet<string> = new Set(["agent_message_chunk", "agent_thought_chunk"]);

/** The words of an event that has nothing else; one with a field that is not known here may. */
function wordsIn(event: UpdateEvent): string | null {
  const { data } = event;
  const { update } = data;
  const { content, messageId } = update;
  if (!WORDS.has(update.sessionUpdate) || !isObject(content)) return null;
  const { type, text } = content;
  if (type !== "text" || typeof text !== "string") return null;
  const isPlain =
    fieldsOf(content) === 2 &&
    fieldsOf(update) === (messageId === undefined ? 2 : 3) &&
    fieldsOf(data) === 2 &&
    fieldsOf(event) === ENVELOPE_FIELDS + stampsOf(event);
  return isPlain ? text : null;
}

/** Whether words go on with those before, so that they differ in their text, number and time. */
function goesOn(before: UpdateEvent, event: UpdateEvent): boolean {
  const { update } = event.data;
  const earlier = before.data.update;
  return (
    update.sessionUpdate === earlier.sessionUpdate &&
    update.messageId === earlier.messageId &&
    event.data.sessionId === before.data.sessionId &&
    event.promptId === before.promptId &&
    event.originatorClientId === before.originatorClientId &&
    event.originatorUserId === before.originatorUserId
  );
}

/** `id`, `v`, `type`, `data` and `_meta`. */
const ENVELOPE_FIELDS = 5;

function stampsOf({ promptId, originatorClientId, originatorUserId }: LogEvent): number {
  return (
    (promptId === undefined ? 0 : 1) +
    (originatorClientId === undefined ? 0 : 1) +
    (originatorUserId === undefined ? 0 : 1)
  );
}

/** Asked of every chunk, so it makes no list of them. */
function fieldsOf(object: object): number {
  let count = 0;
  for (const _field in object) count += 1;
  return count;
}

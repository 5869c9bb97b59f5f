import type { Exported } from "./export.ts";
import { messageTexts, type PastPart, pastParts } from "./past.ts";
import { parsed } from "./source.ts";

/**
 * One document: what the session is, its conversation, its folded turns, and the raw events since
 * the last of them. The stored texts go into it as they are.
 */
export async function* jsonDocument({ source, record, manifest }: Exported) {
  const { holder: _, term: __, ...session } = record; // Who serves it is no part of a session.
  const head = { v: 1, kind: "fermata-session", session, manifest };
  yield `${JSON.stringify(head).slice(0, -1)},"messages":[`;
  yield* listed(messages());
  yield '],"turns":[';
  let isTail = false;
  let isFirst = true;
  for await (const part of pastParts(source, record)) {
    if (part.kind !== "turn" && !isTail) {
      yield '],"tail":[';
      isTail = true;
      isFirst = true;
    }
    for (const text of textsOf(part)) {
      yield isFirst ? text : `,${text}`;
      isFirst = false;
    }
  }
  yield isTail ? "]}\n" : '],"tail":[]}\n';

  async function* messages() {
    for await (const { id, text } of messageTexts(source, record)) {
      yield checked(text, `message ${id}`);
    }
  }
}

function textsOf(part: PastPart): readonly string[] {
  if (part.kind === "missing") return [JSON.stringify(part.notice)];
  if (part.kind === "events")
    return part.events.map(({ id, text }) => checked(text, `event ${id}`));
  const { firstId, lastId, text } = part.turn;
  const events = checked(text, `the turn that ended with event ${lastId}`);
  return [`{"firstId":${firstId},"lastId":${lastId},"events":${events}}`];
}

async function* listed(texts: AsyncIterable<string>) {
  let isFirst = true;
  for await (const text of texts) {
    yield isFirst ? text : `,${text}`;
    isFirst = false;
  }
}

/** The very same text, once it is known to be JSON. */
function checked(text: string, what: string): string {
  parsed(text, what);
  return text;
}

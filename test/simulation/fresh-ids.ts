import * as id from "../../src/core/id.ts";
import type { SessionWorld } from "../../src/session/world.ts";

type Ids = SessionWorld["ids"];

/** Ids that count up, so that a trace can be read. They outlive servers, as random ones would. */
export class CountedIds implements Ids {
  #last = 0;

  session = () => made(id.parseSessionId, this.text("session"));
  prompt = () => made(id.parsePromptId, this.text("prompt"));
  turn = () => made(id.parseTurnId, this.text("turn"));
  ask = () => made(id.parseAskId, this.text("ask"));
  shell = () => made(id.parseShellId, this.text("shell"));
  child = () => made(id.parseChildId, this.text("child"));
  epoch = () => this.text("epoch");

  text(kind: string): string {
    this.#last += 1;
    return `${kind}-${this.#last}`;
  }
}

export function made<Id>(parse: (text: string) => Id | null, text: string): Id {
  const id = parse(text);
  if (id === null) throw new Error(`"${text}" is no id`);
  return id;
}

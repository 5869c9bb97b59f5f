import { isObject, stringAt } from "../../../core/json.ts";

/** One fact of a session's life. A session is what its entries, in order, make of it. */
export type Entry =
  | { readonly kind: "opened"; readonly cwd: string }
  | {
      readonly kind: "turn";
      readonly user: string;
      readonly agent: string;
      /** The number of the last tool call: later ones count on from it. */
      readonly lastCall: number;
    }
  | { readonly kind: "title"; readonly title: string | null }
  | { readonly kind: "mode"; readonly modeId: string }
  | { readonly kind: "config"; readonly id: string; readonly value: string };

/** Where sessions are kept, living or not. */
export interface Shelf {
  /** Ids count up: `sess-1`, `sess-2`, … Null if there are too many. */
  create(entries: readonly Entry[]): string | null;
  append(id: string, entry: Entry): void;
  /** Null if there is no such session. */
  read(id: string): readonly Entry[] | null;
  /** Oldest first. */
  ids(): readonly string[];
}

export const SESSION_ID = /^sess-([1-9]\d{0,8})$/;

/** An entry as it was written, or null: a folder may hold anything. */
export function readEntry(value: unknown): Entry | null {
  if (!isObject(value)) return null;
  const text = (key: string) => stringAt(value, key);
  switch (value.kind) {
    case "opened": {
      const cwd = text("cwd");
      return cwd === null ? null : { kind: "opened", cwd };
    }
    case "turn": {
      const [user, agent] = [text("user"), text("agent")];
      const lastCall = typeof value.lastCall === "number" ? value.lastCall : 0;
      return user === null || agent === null ? null : { kind: "turn", user, agent, lastCall };
    }
    case "title":
      return { kind: "title", title: text("title") };
    case "mode": {
      const modeId = text("modeId");
      return modeId === null ? null : { kind: "mode", modeId };
    }
    case "config": {
      const [id, setTo] = [text("id"), text("value")];
      return id === null || setTo === null ? null : { kind: "config", id, value: setTo };
    }
    default:
      return null;
  }
}

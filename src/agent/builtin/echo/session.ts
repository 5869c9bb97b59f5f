import type { JsonObject } from "../../../core/json.ts";
import { TEXT_KEPT_CHARS_MAX, TURNS_KEPT_MAX } from "./limits.ts";
import { DEFAULT_MODE, DEFAULT_OPTIONS } from "./settings.ts";
import type { Entry, Shelf } from "./shelf.ts";
import type { Turn } from "./turn.ts";

/** What a session is started or restored with, beside its past. */
export interface Surroundings {
  readonly cwd: string;
  readonly mcpServers: readonly JsonObject[];
  readonly systemPrompt: string | null;
}

export interface PastTurn {
  readonly user: string;
  readonly agent: string;
}

/** A living session. Whatever it has to remember goes through `record`, and so to the shelf. */
export class Session {
  readonly id: string;
  readonly around: Surroundings;
  readonly #shelf: Shelf;
  readonly #options = new Map(DEFAULT_OPTIONS);
  #past: PastTurn[] = [];
  #lastCall = 0;
  #title: string | null = null;
  #modeId: string = DEFAULT_MODE;
  /** The turn at work. */
  turn: Turn | null = null;

  constructor(id: string, entries: readonly Entry[], around: Surroundings, shelf: Shelf) {
    this.id = id;
    this.around = around;
    this.#shelf = shelf;
    for (const entry of entries) this.#apply(entry);
  }

  get past(): readonly PastTurn[] {
    return this.#past;
  }

  get title(): string | null {
    return this.#title;
  }

  get modeId(): string {
    return this.#modeId;
  }

  option(id: string): string | null {
    return this.#options.get(id) ?? null;
  }

  nextCallId(): string {
    this.#lastCall += 1;
    return `call-${this.#lastCall}`;
  }

  record(entry: Entry) {
    this.#apply(entry);
    this.#shelf.append(this.id, entry);
  }

  recordTurn(user: string, agent: string) {
    this.record({ kind: "turn", user: kept(user), agent: kept(agent), lastCall: this.#lastCall });
  }

  #apply(entry: Entry) {
    switch (entry.kind) {
      case "opened":
        return;
      case "turn":
        this.#past.push({ user: entry.user, agent: entry.agent });
        if (this.#past.length > TURNS_KEPT_MAX) this.#past.shift();
        this.#lastCall = Math.max(this.#lastCall, entry.lastCall);
        return;
      case "title":
        this.#title = entry.title;
        return;
      case "mode":
        this.#modeId = entry.modeId;
        return;
      case "config":
        this.#options.set(entry.id, entry.value);
    }
  }
}

function kept(text: string): string {
  return text.slice(0, TEXT_KEPT_CHARS_MAX);
}

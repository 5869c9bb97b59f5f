import type { TenantId } from "../../core/id.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import type { Actor, Command, CommandData, CommandType } from "../../core/session/command.ts";
import type { Decision } from "../../core/session/draft.ts";
import { Life, SERVER, sessionId } from "../../core/session/life.fixture.ts";
import type { JournalEntry } from "../../store/store.ts";
import { SessionAudit } from "./entries.ts";

export const told = ({ text }: JournalEntry): JsonObject => {
  const value: unknown = JSON.parse(text);
  return isObject(value) ? value : {};
};

/** A life whose every decision is audited, as an actor would do it. */
export class AuditedLife extends Life {
  readonly entries: JournalEntry[] = [];
  readonly #audit = new SessionAudit({
    key: { tenantId: "acme" as TenantId, sessionId: sessionId("s") },
    epoch: "e",
    term: 1,
  });

  override submit(command: Command): Decision {
    const firstEventId = this.log.length + 1;
    const earlier = this.session;
    const decision = super.submit(command);
    const before = earlier ?? this.now; // The first command creates the session.
    const step = { kind: "decision", command, decision, before, written: [] } as const;
    this.entries.push(...this.#audit.journal({ ...step, firstEventId, revision: 7 }));
    return decision;
  }

  /** What one more command leaves in the journal. */
  left<Type extends CommandType>(
    type: Type,
    data: Readonly<CommandData[Type]>,
    actor: Actor = SERVER,
  ): readonly JsonObject[] {
    const before = this.entries.length;
    this.give(type, data, actor);
    return this.entries.slice(before).map(told);
  }
}

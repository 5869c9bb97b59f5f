import assert from "node:assert/strict";
import type { TenantId } from "../../../core/id.ts";
import type { Result } from "../../../core/result.ts";
import type * as S from "../../store.ts";
import { DOOMED } from "./doomed-lane.ts";
import type { Played } from "./model.ts";
import type { Line, Refused, SessionStep, Step } from "./step.ts";

/** A call that a child has made, and what the store said to it, if it lived to hear it. */
export interface Called<Of extends Step = Step> {
  readonly step: Of;
  readonly refused: Refused;
  readonly answer: Result<unknown> | null;
}

/** One session: the calls that are known to have had their effect, and those in question. */
export interface SessionHistory {
  readonly key: S.SessionKey;
  readonly settled: Played[];
  readonly called: Called<SessionStep>[];
}

type TenantStep = Exclude<Step, SessionStep>;

/** All that has ever been done to a place, by one process after another. */
export class History {
  /** What is certain of a tenant: its documents, blobs by hash, and entries of no session. */
  readonly documents = new Map<string, S.Document>();
  readonly blobs = new Map<string, Uint8Array>();
  readonly entries = new Map<string, S.JournalEntry>();
  /** What was done to the tenant that is removed again and again, since its last removal. */
  doomed: readonly Called[] = [];
  readonly #sessions = new Map<string, SessionHistory>();
  #called: Called<TenantStep>[] = [];

  /** Adds what a child has said before it died. An answer that it should not have got fails. */
  hear(lines: readonly Line[]) {
    const answers = new Map<number, Result<unknown>>();
    for (const line of lines) if (line.says === "answered") answers.set(line.n, line.answer);
    for (const line of lines) {
      if (line.says !== "calls") continue;
      const { step, refused } = line;
      const answer = answers.get(line.n) ?? null;
      if (answer !== null) isExpected(step, refused, answer);
      if (tenantOf(step) === DOOMED) this.doomed = [...this.doomed, { step, refused, answer }];
      else if ("key" in step) this.of(step.key).called.push({ step, refused, answer });
      else this.#called.push({ step, refused, answer });
    }
  }

  of(key: S.SessionKey): SessionHistory {
    const name = `${key.tenantId} ${key.sessionId}`;
    const history = this.#sessions.get(name) ?? { key, settled: [], called: [] };
    this.#sessions.set(name, history);
    return history;
  }

  get sessions(): readonly SessionHistory[] {
    return [...this.#sessions.values()];
  }

  /** The last child's calls that are about no session, which are then known. */
  takeCalls(): readonly Called<TenantStep>[] {
    const called = this.#called;
    this.#called = [];
    return called;
  }
}

function tenantOf(step: Step): TenantId {
  return "key" in step ? step.key.tenantId : step.tenantId;
}

function isExpected(step: Step, refused: Refused, answer: Result<unknown>) {
  const code = answer.ok ? null : answer.refusal.code;
  const said = JSON.stringify(answer).slice(0, 500);
  assert.equal(code, refused, `${step.op} was answered with ${said}`);
}

import { copyByCommits } from "../../past.ts";
import type { FoldedTurn, SessionKey, SessionStore } from "../../store.ts";
import { GLOBEX } from "../sample.ts";
import { altered } from "./altered.ts";

/** Stores that are wrong about branches. */

/** Copies turns as they are: their events say that they are of another session. */
export function keepsItsSourcesName(): SessionStore {
  const sources = new Map<string, string>();
  return altered((store) => ({
    copyPast(key, term, step) {
      sources.set(nameOf(key), step.from);
      return copyByCommits(store, key, term, step);
    },
    async readTurns(key, range) {
      const page = await store.readTurns(key, range);
      const source = sources.get(nameOf(key));
      if (!page.ok || source === undefined) return page;
      const rows = page.value.rows.map((turn) => inNameOf(turn, key, source));
      return { ok: true, value: { ...page.value, rows } };
    },
  }));
}

function inNameOf(turn: FoldedTurn, { sessionId }: SessionKey, source: string): FoldedTurn {
  const text = turn.text.replaceAll(`"sessionId":"${sessionId}"`, `"sessionId":"${source}"`);
  return { ...turn, text };
}

/** Copies all that its source has, although less was asked for. */
export function copiesEverything(): SessionStore {
  return altered((store) => ({
    async copyPast(key, term, step) {
      const source = await store.readRecord({ ...key, sessionId: step.from });
      if (!source.ok) return source;
      const { messageCount: messages, lastEventId: throughEventId } = source.value;
      return copyByCommits(store, key, term, { ...step, messages, throughEventId });
    },
  }));
}

/** Only points to what its source has: it is gone when that is deleted. */
export function diesWithItsSource(): SessionStore {
  const branches = new Map<string, SessionKey>();
  return altered((store) => ({
    copyPast(key, term, step) {
      branches.set(nameOf({ ...key, sessionId: step.from }), key);
      return copyByCommits(store, key, term, step);
    },
    async delete(key, holder, audit) {
      const branch = branches.get(nameOf(key));
      if (branch !== undefined) await store.delete(branch, holder, []);
      return store.delete(key, holder, audit);
    },
  }));
}

/** Takes a step under any term. */
export function branchesForAnybody(): SessionStore {
  return altered((store) => ({
    async copyPast(key, _, step) {
      const record = await store.readRecord(key);
      return record.ok ? copyByCommits(store, key, record.value.term, step) : record;
    },
  }));
}

/** Looks for the source in other tenants too. */
export function findsOtherTenants(): SessionStore {
  return altered((store) => ({
    async copyPast(key, term, step) {
      const own = await copyByCommits(store, key, term, step);
      if (own.ok || own.refusal.code !== "session_not_found") return own;
      const theirs: Pick<SessionStore, "readRecord" | "readMessages" | "readTurns"> = {
        readRecord: (of) => store.readRecord(of.sessionId === step.from ? abroad(of) : of),
        readMessages: (of, range) => store.readMessages(abroad(of), range),
        readTurns: (of, range) => store.readTurns(abroad(of), range),
      };
      const { readManifest, commit } = store;
      const here = { readManifest: readManifest.bind(store), commit: commit.bind(store) };
      return copyByCommits({ ...here, ...theirs }, key, term, step);
    },
  }));
}

function abroad({ sessionId }: SessionKey): SessionKey {
  return { tenantId: GLOBEX, sessionId };
}

/** Passes over every second turn. */
export function leavesOutTurns(): SessionStore {
  return altered((store) => ({
    copyPast(key, term, step) {
      const { readRecord, readManifest, readMessages, commit } = store;
      const same = { readRecord, readManifest, readMessages, commit };
      const others = Object.entries(same).map(([name, own]) => [name, own.bind(store)]);
      return copyByCommits(
        {
          ...(Object.fromEntries(others) as typeof same),
          async readTurns(of, range) {
            const page = await store.readTurns(of, range);
            if (!page.ok) return page;
            const rows = page.value.rows.filter((_, index) => index % 2 === 0);
            return { ok: true, value: { ...page.value, rows } };
          },
        },
        key,
        term,
        step,
      );
    },
  }));
}

function nameOf({ tenantId, sessionId }: SessionKey): string {
  return `${tenantId}/${sessionId}`;
}

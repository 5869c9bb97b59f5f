import type { SessionStore } from "../../store.ts";
import * as branch from "./branch.ts";
import * as identity from "./identity.ts";
import * as ownership from "./identity.ts";
import * as tenant from "./identity.ts";
import * as loss from "./loss.ts";
import * as row from "./row.ts";

/** A store that is wrong in one way, and how the kit must find that out. */
export interface BrokenStore {
  readonly store: () => SessionStore;
  /** The checks that must notice. Others may, too. */
  readonly by: readonly string[];
  /** What the first of them must say. */
  readonly saying: RegExp;
}

/**
 * The stores on which the kit proves that it can fail, by what is wrong with them. An
 * author who changes a check, or runs the kit with another runner, can hold it to them as our own
 * tests do.
 */
export const BROKEN_STORES: Readonly<Record<string, BrokenStore>> = {
  "drops slots": {
    store: loss.dropsSlots,
    by: ["25", "26", "29", "30", "43", "63", "75"],
    saying: /strictly deep-equal/,
  },
  "commits half": {
    store: loss.commitsHalf,
    by: ["43", "36", "37", "40", "51", "56", "66", "72"],
    saying: /displayName|lastEventId/,
  },
  "loses the last append": {
    store: loss.losesLastAppend,
    by: ["57", "60", "51", "K1", "K2", "K5"],
    saying: /strictly deep-equal/,
  },
  "maps two ids to one place": {
    store: identity.mapsTwoIdsToOneKey,
    by: ["39", "71"],
    saying: /session_id_conflict/,
  },
  "ignores fencing": {
    store: ownership.ignoresFencing,
    by: ["J1", "J2", "J5", "J7", "J10", "43", "51"],
    saying: /accepted, instead of writer_lost/,
  },
  "accepts foreign store ids": {
    store: identity.acceptsForeignStoreIds,
    by: ["36"],
    saying: /accepted, instead of resume_mismatch/,
  },
  "trims past the snapshot": {
    store: loss.trimsPastTheSnapshot,
    by: ["K6"],
    saying: /a page has no rows, and says that there are more/,
  },
  "shares what it keeps": {
    store: identity.sharesWhatItKeeps,
    by: ["33"],
    saying: /sha256/,
  },
  "throws raw": {
    store: identity.throwsRaw,
    by: ["38", "18", "34", "43", "51", "56", "J1", "K1"],
    saying: /commit of null threw Error: invalid_store_input/,
  },
  "leaks across tenants": {
    store: identity.leaksAcrossTenants,
    by: ["L2", "L3", "L4"],
    saying: /theirs/,
  },
  "lists what is private": {
    store: identity.listsWhatIsPrivate,
    by: ["H8"],
    saying: /visibleTo/,
  },
  "filters after paging": {
    store: identity.filtersAfterPaging,
    by: ["H8"],
    saying: /a page is not full/,
  },
  "finds what had a name first": {
    store: row.findsFirstNames,
    by: ["H9"],
    saying: /strictly deep-equal/,
  },
  "takes stale revisions": {
    store: ownership.takesStaleRevisions,
    by: ["56", "43", "51"],
    saying: /accepted, instead of stale_revision/,
  },
  "steals sessions": {
    store: ownership.stealsSessions,
    by: ["52", "J3", "J7", "J8"],
    saying: /accepted, instead of session_locked/,
  },
  "lets one refusal fail a whole group": {
    store: loss.failsTogether,
    by: ["51"],
    saying: /false !== true/,
  },
  "forgets the journals of deleted sessions": {
    store: loss.forgetsJournals,
    by: ["M4"],
    saying: /made/,
  },
  "keeps no audit": {
    store: loss.keepsNoAudit,
    by: ["72", "43", "M4"],
    saying: /made/,
  },
  "tells of a document before it writes it": {
    store: loss.tellsBeforeItWrites,
    by: ["N13", "N16", "N18", "U6"],
    saying: /never/,
  },
  "tells of a document after it has written it": {
    store: loss.tellsAfterItHasWritten,
    by: ["N14", "72", "M6"],
    saying: /strictly deep-equal/,
  },
  "ignores where a commit belongs": {
    store: ownership.ignoresLogEnd,
    by: ["P10", "K1", "43", "R2", "R8"],
    saying: /true !== false|strictly/,
  },
  "lets the older term of a reopened session write": {
    store: ownership.letsOlderTermsWrite,
    by: ["P1", "P2", "P4"],
    saying: /accepted, instead of writer_lost/,
  },
  "deletes for anybody": {
    store: ownership.deletesForAnybody,
    by: ["Q1", "Q4"],
    saying: /accepted, instead of session_locked/,
  },
  "seizes in silence": {
    store: ownership.seizesInSilence,
    by: ["P7", "72"],
    saying: /accepted, instead of invalid_store_input/,
  },
  "cuts a log and keeps its epoch": {
    store: loss.keepsEpochs,
    by: ["R1", "R2", "R3"],
    saying: /epoch/,
  },
  "ends its pages too early": {
    store: loss.endsPagesEarly,
    by: ["S2", "S3", "S4"],
    saying: /the pages are not all that was written/,
  },
  "removes only the sessions of a tenant": {
    store: tenant.removesOnlySessions,
    by: ["U1", "U4", "U5", "U6"],
    saying: /globex/,
  },
  "removes the neighbours of a tenant": {
    store: tenant.removesNeighbours,
    by: ["U1"],
    saying: /strictly deep-equal/,
  },
  "removes tenants for anybody": {
    store: tenant.removesForAnybody,
    by: ["U2"],
    saying: /accepted, instead of session_locked/,
  },
  "counts the terms of a new tenant from 1 again": {
    store: tenant.countsTermsAnew,
    by: ["U5"],
    saying: /accepted, instead of writer_lost/,
  },
  "brings removed tenants back": {
    store: tenant.revivesTenants,
    by: ["U6"],
    saying: /acme/,
  },
  "pages by counting": {
    store: identity.pagesByCounting,
    by: ["H3", "H4"],
    saying: /strictly deep-equal/,
  },
  "lets a lost writer change the record alone": {
    store: row.fencesNoRecords,
    by: ["J12"],
    saying: /accepted, instead of writer_lost/,
  },
  "lists an old row after a commit of the record alone": {
    store: row.listsOldRows,
    by: ["V1"],
    saying: /strictly deep-equal/,
  },
  "answers two who make one session that both have made it": {
    store: row.createsTwice,
    by: ["52"],
    saying: /32 of 32 were told that they have made it/,
  },
  "loses the state machine with the second snapshot": {
    store: row.losesStateMachines,
    by: ["23"],
    saying: /smState/,
  },
  "replaces the record's time by the manifest's": {
    store: row.mixesUpTimes,
    by: ["V2"],
    saying: /updatedAtMs/,
  },
  "answers a commit without events with no position": {
    store: row.answersWithoutPosition,
    by: ["V3"],
    saying: /lastEventId/,
  },
  "lists a wrong time of creation": {
    store: row.listsWrongCreation,
    by: ["V1"],
    saying: /createdAtMs/,
  },
  "folds the case of journal keys": {
    store: identity.foldsJournalKeys,
    by: ["M9"],
    saying: /journal_conflict/,
  },
  "reads from its memory after it was deactivated": {
    store: row.readsWhatItRemembers,
    by: ["18"],
    saying: /readRecord/,
  },
  "branches in the name of the source": {
    store: branch.keepsItsSourcesName,
    by: ["W1"],
    saying: /s-1/,
  },
  "branches more than was asked for": {
    store: branch.copiesEverything,
    by: ["W2"],
    saying: /strictly equal/,
  },
  "deletes branches with their source": {
    store: branch.diesWithItsSource,
    by: ["W3"],
    saying: /session_not_found/,
  },
  "branches for a writer that is lost": {
    store: branch.branchesForAnybody,
    by: ["W4"],
    saying: /accepted, instead of writer_lost/,
  },
  "branches the session of another tenant": {
    store: branch.findsOtherTenants,
    by: ["W5"],
    saying: /accepted, instead of session_not_found/,
  },
  "answers that a branch is whole, and leaves out a turn": {
    store: branch.leavesOutTurns,
    by: ["W1", "W6"],
    saying: /2 !== 3/,
  },
  "finds what is private": {
    store: identity.findsWhatIsPrivate,
    by: ["F3"],
    saying: /what bob has changes what ada gets/,
  },
  "tells of private hits by its cursor": {
    store: identity.hidesAfterPaging,
    by: ["F3"],
    saying: /what bob has changes what ada gets/,
  },
  "loses documents between two pages": {
    store: loss.losesDocumentsBetweenPages,
    by: ["N21"],
    saying: /after \uff5e/,
  },
};

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Account, emptyAccount, type LedgerEntry, postEntry } from "../ledger.ts";
import {
  ASKS_RESOLVED_MAX,
  CLIENTS_MAX,
  PROMPTS_PENDING_MAX,
  STEERED_MESSAGES_MAX,
} from "../limits.ts";
import { approvalMeaning, profileAllows, RISK_TIERS } from "../policy/risk.ts";
import { hasTurn, SESSION_STATES, type SessionState, VALID_TRANSITIONS } from "../status.ts";
import { EMPTY_TURN } from "../turn.ts";
import { COMMAND_TYPES } from "./admission.ts";
import { anything, commandFor } from "./anything.fixture.ts";
import { isVerdict, type SessionEvent } from "./event.ts";
import { EVENT_TYPES } from "./event-table.ts";
import { evolve } from "./evolve.ts";
import { AGENT, dataOf, Life, steps } from "./life.fixture.ts";
import { equals, inEveryLife, is, SEED } from "./random-lives.fixture.ts";
import { pendingCount, type Session, waitingMessages } from "./state.ts";

const verdicts = (events: readonly SessionEvent[]) =>
  events.filter(({ type }) => type === "turn_complete" || type === "turn_error");

describe("the random lives", () => {
  it("reach every state, and give every command and every event its chance", () => {
    const states = new Set<SessionState>();
    const heard = new Set<string>();
    const seen = new Set<string>();
    const live = fc.property(anything, (intents) => {
      const life = new Life().created();
      for (const [step, intent] of intents.entries()) {
        const command = commandFor(life, intent, step + 2);
        const { kind, events } = life.submit(command);
        states.add(life.state);
        if (kind === "accepted") heard.add(command.type);
        for (const { type } of events) seen.add(type);
      }
    });
    fc.assert(live, { numRuns: 1_500, seed: 1 });
    expect(SESSION_STATES.filter((state) => !states.has(state))).toEqual([]);
    expect(COMMAND_TYPES.filter((type) => !heard.has(type))).toEqual(["create"]);
    expect(EVENT_TYPES.filter((type) => !seen.has(type))).toEqual(UNANNOUNCED);
  });
});

/** Events that `announce` alone makes are all decided alike: one stands for the others. */
const UNANNOUNCED = [
  "session_created",
  "skill_invoked",
  "session_branched",
  "credits_warning",
  "credits_waiting",
  "usage_suspect",
  "extension_disabled",
  "extensions_reloaded",
];

describe("whatever happens to a session", () => {
  it("P4: it moves only along edges of the table, each from where it stands", () => {
    inEveryLife(({ before, decision }) => {
      let at = before?.connection.sessionState ?? "inactive";
      for (const { from, to } of dataOf(decision.events, "session_status")) {
        is(from, at);
        is(VALID_TRANSITIONS[from].has(to), true);
        at = to;
      }
      is(decision.session?.connection.sessionState, at);
    });
  });

  it("P4: it never comes from `error` to `ready` or `running` without `activating`", () => {
    let since: SessionState[] = [];
    inEveryLife(({ decision }, life) => {
      if (life.log.length === decision.events.length) since = [];
      for (const { to } of dataOf(decision.events, "session_status")) {
        since = to === "error" ? ["error"] : [...since, to];
        const recovered = since[0] === "error" && (to === "ready" || to === "running");
        is(recovered && !since.includes("activating"), false);
      }
    });
  });

  it("is decided by the same events that its log will show", () => {
    inEveryLife(({ before, decision }) => {
      const replayed = decision.events.reduce<Session | null>(evolve, before);
      equals(replayed, decision.session);
    });
  });

  it("is the same again from its log as text: nothing is lost in an event's JSON", () => {
    inEveryLife(
      () => {},
      (life) => {
        const stored: SessionEvent[] = life.log.map((event) => JSON.parse(JSON.stringify(event)));
        equals(stored, life.log);
        equals(stored.reduce<Session | null>(evolve, null), life.session);
      },
    );
  });

  it("P5: no idle rule takes an agent away from work, not even from work that waits", () => {
    inEveryLife(({ before, decision }) => {
      // A prompt may come while the agent is already on its way out; then it has to wait.
      if (before === null || before.connection.sessionState === "deactivating") return;
      const causes = dataOf(decision.events, "session_status").map(({ cause }) => cause);
      const idle = causes.some((cause) => /idle|evicted|detached/.test(cause));
      is(idle && pendingCount(before) > 0, false);
    });
  });

  it("a refusal without events leaves it as it was", () => {
    inEveryLife(({ before, decision }) => {
      if (decision.kind === "refused" && decision.events.length === 0) {
        is(decision.session, before);
      }
    });
  });

  it("P2: every admitted prompt has exactly one verdict, at the latest when it is closed", () => {
    inEveryLife(
      ({ decision }, life) => {
        const judged = verdicts(life.log).map(({ promptId }) => promptId);
        is(new Set(judged).size, judged.length);
        if (decision.session === null) return;
        const admitted = dataOf(life.log, "prompt_admitted").length;
        is(pendingCount(decision.session), admitted - judged.length);
      },
      (life) => {
        life.give("close", {});
        const admitted = dataOf(life.log, "prompt_admitted").map(({ promptId }) => promptId);
        const judged = verdicts(life.log).map(({ promptId }) => promptId);
        equals(judged.toSorted(), admitted.toSorted());
      },
    );
  });

  it("P9: it holds a reservation exactly while it has a turn", () => {
    inEveryLife(({ decision: { session } }) => {
      if (session === null) return;
      const { turn, sessionState } = session.connection;
      is(turn.currentReservation !== null, hasTurn(sessionState));
      is(session.running !== null, hasTurn(sessionState));
      is(turn.turnId, session.running?.turnId ?? null);
    });
  });

  it("P9: for every turn, what was reserved is what was charged and released", () => {
    inEveryLife(
      () => {},
      (life) => {
        life.give("recovery", {});
        const account = accountOf(life.log);
        equals([...account.openByTurn], []);
        is(account.openMicro, 0);
        const charged = dataOf(life.log, "credits_settled").map(({ chargedMicro }) => chargedMicro);
        is(
          account.chargedMicro,
          charged.reduce((sum, micro) => sum + micro, 0),
        );
      },
    );
  });

  it("nothing of a turn is left when it is over", () => {
    inEveryLife(({ decision: { session } }) => {
      if (session !== null && session.running === null) {
        equals(session.connection.turn, EMPTY_TURN);
      }
    });
  });

  it("is `waiting` exactly while people have something to answer", () => {
    inEveryLife(({ decision: { session } }) => {
      const open = session?.connection.turn.openAsks.size ?? 0;
      is(open > 0, session?.connection.sessionState === "waiting");
    });
  });

  it("has a turn only while `Active`, and its phases spell a legal life", () => {
    inEveryLife(
      ({ decision: { session } }) => {
        if (session !== null && hasTurn(session.connection.sessionState)) {
          is(session.phase, "Active");
        }
      },
      (life) => expect(spell(life.log)).toMatch(LEGAL_LIFE),
    );
  });

  it("a turn's verdict is committed with its snapshot, unless the instance ends under it", () => {
    inEveryLife(({ before, decision }) => {
      const turn = before?.running ?? null;
      if (turn === null || !verdicts(decision.events).some((e) => e.promptId === turn.promptId)) {
        return;
      }
      const phases = dataOf(decision.events, "session_lifecycle").map(({ event }) => event);
      const leaves = steps(decision.events).some((step) => /deactivating|inactive$/.test(step));
      is(phases.includes("SessionTurnEnd"), phases.includes("SessionPersisted"));
      is(phases.includes("SessionPersisted") || leaves, true);
    });
  });

  it("remembers why it ends exactly as long as it is ending", () => {
    inEveryLife(({ decision: { session } }) => {
      const taken = session?.connection.sessionState === "deactivating";
      is(session?.ending !== null && !taken, false);
    });
  });

  it("P10: nothing it holds grows past its limit", () => {
    inEveryLife(({ decision: { session } }) => {
      if (session === null) return;
      const waiting = waitingMessages(session).length;
      const taken = session.running?.taken?.length ?? 0;
      is(waiting <= STEERED_MESSAGES_MAX, true);
      is(taken <= STEERED_MESSAGES_MAX, true);
      is(pendingCount(session) - waiting - taken <= PROMPTS_PENDING_MAX, true);
      is(session.clients.size <= CLIENTS_MAX, true);
      is(session.resolvedAsks.size <= ASKS_RESOLVED_MAX, true);
    });
  });

  it("P5: recovery brings it to rest from anywhere, and a second one changes nothing", () => {
    inEveryLife(
      () => {},
      (life) => {
        const queue = life.now.queue;
        const first = life.give("recovery", {});
        is(first.kind, "accepted");
        expect(life.now).toMatchObject({ phase: "Closed", running: null, ending: null, queue });
        is(life.state, "inactive");
        equals(life.turn, EMPTY_TURN);
        equals(life.give("recovery", {}).events, []);
        equals(life.give("store_failure", {}).events, []);
      },
    );
  });

  it("rests `inactive` and `Closed` after a close, however its agent goes", () => {
    inEveryLife(
      () => {},
      (life) => {
        life.give("close", {});
        life.give("agent_status", { status: "error", message: "will not go" }, AGENT);
        expect(life.now).toMatchObject({ phase: "Closed", closed: true, queue: [], running: null });
        is(life.state, "inactive");
      },
    );
  });

  it("P7: what was chosen changes only by the event that says so", () => {
    inEveryLife(({ before, decision }) => {
      if (before === null || decision.session === null) return;
      const said = decision.events.some(({ type }) => CHOICES.has(type));
      if (!said) is(decision.session.chosen, before.chosen);
      is(decision.session.fixed, before.fixed);
    });
  });

  it("P9: a verdict says what its turn was charged, where that had a price", () => {
    inEveryLife(({ before, decision }) => {
      const turn = before?.connection.turn.currentReservation;
      if (!turn || turn.price === null) return;
      const [settled] = dataOf(decision.events, "credits_settled");
      const verdict = decision.events.find(isVerdict);
      if (settled !== undefined) is(verdict?.data.cost?.chargedMicro, settled.chargedMicro);
    });
  });

  it("P7: a name that a session has is only replaced by one that is given", () => {
    inEveryLife(({ before, command, decision }) => {
      const from = before?.chosen.name;
      const to = decision.session?.chosen.name;
      if (from === to) return;
      is(to === undefined, false);
      const wanted = command.type === "metadata" || command.type === "create";
      is(wanted || (command.type === "prompt" && from === undefined), true);
    });
  });

  it("P7: how much may happen unasked changes only by the events that say so", () => {
    inEveryLife(({ before, decision }) => {
      if (before === null || decision.session === null) return;
      const { autonomyProfile, agentMode } = decision.session.connection;
      const types = decision.events.map(({ type }) => type);
      const isMoved = decision.events.some((event) => {
        return event.type === "approval_mode_changed" && event.data.isWordOnly !== true;
      });
      if (!isMoved && !types.includes("agent_mode_changed")) {
        is(agentMode, before.connection.agentMode);
      }
      if (isMoved || types.includes("autonomy_profile_changed")) return;
      is(autonomyProfile, before.connection.autonomyProfile);
    });
  });

  it("the wire's word never names a mode that the agent is not to be in", () => {
    inEveryLife(({ decision: { session } }) => {
      if (session === null) return;
      const named = approvalMeaning(session.chosen.approvalMode).agentMode;
      if (named !== null) is(session.connection.agentMode, named);
    });
  });

  it("the wire's word never promises more than the profile lets through", () => {
    inEveryLife(({ decision: { session } }) => {
      if (session === null) return;
      const promised = approvalMeaning(session.chosen.approvalMode).autonomyProfile;
      const { autonomyProfile } = session.connection;
      for (const tier of RISK_TIERS) {
        const isPromised = profileAllows(promised, tier);
        is(isPromised && !profileAllows(autonomyProfile, tier), false);
      }
    });
  });

  it("any log can be replayed, whole, cut short or with events missing, and nothing throws", () => {
    let drawn = SEED;
    const isKept = () => {
      // A generator of Lehmer's: which events are missing must follow from the seed, too.
      drawn = (drawn * 48_271 + 1) % 2_147_483_647;
      return drawn % 2 === 0;
    };
    inEveryLife(
      () => {},
      (life) => {
        let whole: Session | null = null;
        for (const event of life.log) whole = evolve(whole, event);
        equals(whole, life.session);
        life.log.filter(isKept).reduce<Session | null>(evolve, null);
      },
    );
  });
});

const CHOICES: ReadonlySet<string> = new Set([
  "session_metadata_updated",
  "session_named",
  "model_switched",
  "model_config_changed",
  "agent_option_changed",
  "approval_mode_changed",
  "skills_reloaded",
  "persona_reloaded",
  "active_agent_changed",
  "session_cwd_changed",
  "session_budget_changed",
  "session_month_budget_changed",
  "session_visibility_changed",
]);

/** One letter for each lifecycle event, so that an order of events can be matched as a word. */
const LETTERS = {
  SessionStarted: "s",
  SessionTurnStart: "t",
  SessionTurnEnd: "e",
  SessionPersisted: "p",
  SessionResumeStarted: "r",
  SessionResumed: "d",
  SessionClosed: "c",
} as const;

/** Start; turns; perhaps one abandoned; close; perhaps a resume, whose first turn says so. */
const LEGAL_LIFE = /^s(tep)*t?(cr(d(tep)+t?|dt)?)*c?$/;

function spell(log: readonly SessionEvent[]): string {
  return dataOf(log, "session_lifecycle")
    .map(({ event }) => LETTERS[event])
    .join("");
}

/** What the ledger comes to if every event of the log is posted to it, once each. */
function accountOf(log: readonly SessionEvent[]): Account {
  const entries = log.flatMap((event): readonly LedgerEntry[] => {
    if (event.type === "credits_reserved") {
      const { turnId, n, amountMicro } = event.data;
      return [{ kind: "reserve", turnId, n, amountMicro }];
    }
    if (event.type !== "credits_settled") return [];
    const { turnId, chargedMicro, releasedMicro } = event.data;
    return [
      { kind: "charge", turnId, n: 0, amountMicro: chargedMicro },
      { kind: "release", turnId, n: 0, amountMicro: releasedMicro },
    ];
  });
  return entries.reduce((account, entry) => {
    const posting = postEntry(account, entry, null, "committed");
    is(posting.kind, "posted");
    return posting.kind === "posted" ? posting.account : account;
  }, emptyAccount("granted"));
}

import { describe, it } from "vitest";
import { stringAt } from "../json.ts";
import { CHILDREN_OPEN_MAX, CHILDREN_PER_TURN_MAX, CHILDREN_REMEMBERED_MAX } from "../limits.ts";
import { AUTONOMY_PROFILES } from "../policy/risk.ts";
import { isOpen, openChildren } from "./child.ts";
import { isVerdict } from "./event.ts";
import { dataOf } from "./life.fixture.ts";
import { equals, inEveryLife, is } from "./random-lives.fixture.ts";

describe("whatever happens to the children of a session", () => {
  it("P2: each that began ends exactly once, before the verdict of its turn", () => {
    inEveryLife(
      () => {},
      (life) => {
        life.give("recovery", {});
        const open = new Map<string, string | undefined>();
        const over = new Set<string>();
        for (const event of life.log) {
          if (event.type === "child_session_started") {
            is(open.has(event.data.childId) || over.has(event.data.childId), false);
            open.set(event.data.childId, event.promptId);
          }
          if (event.type === "child_session_ended") {
            is(open.delete(event.data.childId), true);
            over.add(event.data.childId);
          }
          if (isVerdict(event)) is([...open.values()].includes(event.promptId), false);
        }
        is(open.size, 0);
      },
    );
  });

  it("P2: nothing of one follows its end, but figures of what it has used", () => {
    inEveryLife(
      () => {},
      (life) => {
        const over = new Set<string>();
        for (const { type, childId } of life.log) {
          if (childId === undefined) continue;
          const isLate = over.has(childId) && type !== "child_usage_reported";
          // Of an ask that has ended people may still be told so.
          is(isLate && !type.startsWith("permission_") && type !== "session_grant_added", false);
          if (type === "child_session_ended") over.add(childId);
        }
      },
    );
  });

  it("P5: several end in the order in which they began, and no ask of one outlives it", () => {
    inEveryLife(({ before, decision }) => {
      const known = [...(before?.connection.turn.children.keys() ?? [])];
      const ended = dataOf(decision.events, "child_session_ended").map(({ childId }) => childId);
      equals(
        ended,
        known.filter((childId) => ended.includes(childId)),
      );
      const { openAsks, children } = decision.session?.connection.turn ?? {};
      for (const { childId } of openAsks?.values() ?? []) {
        if (childId === undefined) continue;
        const child = children?.get(childId);
        is(child !== undefined && isOpen(child), true);
      }
    });
  });

  it("none shares the name of a tool call with another agent of the session", () => {
    inEveryLife(({ decision }) => {
      for (const event of decision.events) {
        if (event.type !== "session_update") continue;
        const toolCallId = stringAt(event.data.update, "toolCallId");
        const prefix = /^(k\d+)\//.exec(toolCallId ?? "")?.[1];
        if (toolCallId !== null) is(prefix, event.childId);
      }
    });
  });

  it("P7: what one may do is what its parent was set to, and no later setting widens it", () => {
    inEveryLife(({ before, decision }) => {
      const { session } = decision;
      for (const [childId, { rules }] of session?.connection.turn.children ?? []) {
        const earlier = before?.connection.turn.children.get(childId)?.rules;
        if (earlier === undefined || earlier === rules) continue;
        is(
          AUTONOMY_PROFILES.indexOf(rules.autonomyProfile) >
            AUTONOMY_PROFILES.indexOf(earlier.autonomyProfile),
          false,
        );
        is(rules.readOnly, earlier.readOnly);
        const granted = decision.events.flatMap((event) => {
          return event.type === "session_grant_added" && event.childId === childId
            ? [event.data.key]
            : [];
        });
        const more = [...rules.grants].filter((key) => !earlier.grants.has(key));
        is(
          more.every((key) => granted.includes(key)),
          true,
        );
      }
    });
  });

  it("P10: there are never more of them than there may be", () => {
    inEveryLife(({ decision: { session } }) => {
      if (session === null) return;
      const { turn } = session.connection;
      is(openChildren(turn).length <= CHILDREN_OPEN_MAX, true);
      is(turn.children.size <= CHILDREN_PER_TURN_MAX, true);
      is((session.pastChildren?.length ?? 0) <= CHILDREN_REMEMBERED_MAX, true);
    });
  });

  it("none begins when its turn is told to stop", () => {
    inEveryLife(({ before, decision }) => {
      const isStopping = before?.running?.stopCause != null;
      const begun = dataOf(decision.events, "child_session_started").length;
      is(isStopping && begun > 0, false);
    });
  });
});

import { describe, expect, it } from "vitest";
import { parseUserId } from "../../id.ts";
import { GRANTS_MAX } from "../../limits.ts";
import type { Actor, CommandData, CommandType } from "../command.ts";
import {
  AGENT,
  askId,
  clientId,
  dataOf,
  Life,
  newAsk,
  newPrompt,
  noCredit,
  promptId,
  shellId,
} from "../life.fixture.ts";
import { readSlot, writeSlot } from "../slot.ts";

function user(name: string): Actor {
  const userId = parseUserId(name);
  return { kind: "client", clientId: clientId(`${name}-1`), userId, loopback: true };
}

const ADA = user("ada");
const BEN = user("ben");
const ENVELOPE = { originatorClientId: "ben-1", originatorUserId: "ben" };

/** Ada's turn is at work, and both are attached. */
function ofAda(): Life {
  const life = new Life().ready();
  for (const one of [ADA, BEN]) attach(life, one);
  life.give("prompt", { ...newPrompt("p1"), start: noCredit("t1") }, ADA);
  return life;
}

function attach(life: Life, actor: Actor) {
  if (actor.kind !== "client" || actor.clientId === null) return;
  life.give("attach", { clientId: actor.clientId, idle: [] }, actor);
}

function atRest(): Life {
  const life = ofAda();
  life.complete("t1");
  return life;
}

type Wish = { [Type in CommandType]: [Type, CommandData[Type]] }[CommandType];

const WISHES: readonly Wish[] = [
  ["metadata", { displayName: "mine" }],
  ["model", { change: { modelId: "m2" } }],
  ["approval_mode", { mode: "auto", persisted: false }],
  ["autonomy", { profile: "balanced" }],
  ["sandbox", { state: "ready" }],
  ["reload_skills", { hash: "h", difference: "" }],
  ["reload_persona", { hash: "h", difference: "" }],
  ["change_agent", { to: "other" }],
  ["change_cwd", { to: "/workspace/a" }],
  ["set_budget", { budgetMicro: 7 }],
  ["cancel", {}],
  ["close", {}],
];

describe("who did it, in the envelope", () => {
  it.each(WISHES)("is the user beside the client: %s", (type, data) => {
    const life = atRest();
    const { events } = life.give(type, data, BEN);
    expect(events[0]).toMatchObject(ENVELOPE);
  });

  it("is the sender's for all of a prompt, and the canceller's for its cancel", () => {
    const life = ofAda();
    life.says("hello");
    const [chunk] = life.log.slice(-1);
    expect(chunk).toMatchObject({ originatorClientId: "ada-1", originatorUserId: "ada" });
    const { events } = life.give("cancel", {}, BEN);
    expect(events[0]).toMatchObject({ type: "prompt_cancelled", promptId: "p1", ...ENVELOPE });
    const settled = life.complete("t1", "cancelled").events;
    expect(settled.at(-1)).toMatchObject({ originatorUserId: "ada" });
  });

  it("is the voter's for what a vote decides and grants, and for a vote that came too late", () => {
    const life = ofAda();
    life.give("ask", newAsk("a1"), AGENT);
    const outcome = { outcome: "selected", optionId: "always" } as const;
    const { events } = life.give("vote", { requestId: askId("a1"), outcome }, BEN);
    expect(events.slice(0, 2)).toMatchObject([
      { type: "permission_resolved", ...ENVELOPE, data: { voterUserId: "ben" } },
      { type: "session_grant_added", ...ENVELOPE, data: { requestId: "a1" } },
    ]);
    const late = life.give("vote", { requestId: askId("a1"), outcome }, BEN);
    expect(late.events).toMatchObject([{ type: "permission_already_resolved", ...ENVELOPE }]);
  });

  it("is the prompt's for a vote that was not theirs to give, which names the voter itself", () => {
    const life = ofAda();
    life.give("ask", newAsk("a1", { policy: "designated" }), AGENT);
    const outcome = { outcome: "selected", optionId: "yes" } as const;
    const { events } = life.give("vote", { requestId: askId("a1"), outcome }, BEN);
    expect(events).toMatchObject([
      {
        type: "permission_forbidden",
        originatorUserId: "ada",
        data: { clientId: "ben-1", userId: "ben" },
      },
    ]);
  });

  it("is a shell's to its end", () => {
    const life = atRest();
    const shell = { shellId: shellId("sh"), command: "ls", cwd: "/workspace", idempotency: null };
    life.give("shell_started", shell, BEN);
    life.give("shell_output", { shellId: shellId("sh"), output: "a" });
    const ended = { exitCode: 0, signal: null, aborted: false, output: "a" };
    life.give("shell_result", { shellId: shellId("sh"), command: "ls", ...ended });
    expect(life.log.slice(-3)).toMatchObject([ENVELOPE, ENVELOPE, ENVELOPE]);
  });

  it("is nobody's where there is no user", () => {
    const life = new Life().ready();
    const { events } = life.give("metadata", { displayName: "x" });
    expect(events[0]).not.toHaveProperty("originatorUserId");
  });
});

describe("whoever closes a session", () => {
  it("is known when its agent has gone, though the agent's end is what closes it", () => {
    const life = atRest();
    life.give("close", {}, BEN);
    expect(life.state).toBe("deactivating");
    const { events } = life.give("agent_status", { status: "terminated" }, AGENT);
    expect(events.at(-1)).toMatchObject({ type: "session_closed", ...ENVELOPE });
  });

  it("is known after a restart in between as well", () => {
    const life = atRest();
    life.give("close", {}, BEN);
    life.session = readSlot("2", writeSlot(life.now));
    const { events } = life.give("recovery", {});
    expect(events.at(-1)).toMatchObject({ type: "session_closed", ...ENVELOPE });
  });

  it("is whoever sent the command that closes it", () => {
    const life = atRest();
    life.give("prompt", newPrompt("p2", { content: [{ type: "text", text: "/close" }] }), BEN);
    const result = { status: "ok", code: "closed", message: "Closed." } as const;
    const effect = { type: "close" } as const;
    life.give("command_result", { promptId: promptId("p2"), result, effect });
    const { events } = life.give("agent_status", { status: "terminated" }, AGENT);
    expect(events.at(-1)).toMatchObject({ type: "session_closed", ...ENVELOPE });
  });
});

describe("an `allow_always` that grants nothing", () => {
  const outcome = { outcome: "selected", optionId: "always" } as const;

  function voted(life: Life, ask: Parameters<typeof newAsk>[1]) {
    life.give("ask", newAsk("a1", ask), AGENT);
    return life.give("vote", { requestId: askId("a1"), outcome }, BEN).events;
  }

  const granted = (events: ReturnType<typeof voted>) => [
    dataOf(events, "permission_resolved")[0]?.granted,
    dataOf(events, "session_grant_added").length,
  ];

  it("says so: of a call that does not say what it touches", () => {
    expect(granted(voted(ofAda(), { toolCall: { toolCallId: "c", kind: "edit" } }))).toEqual([
      false,
      0,
    ]);
  });

  it("says so: when there is no room for all of its keys", () => {
    const life = ofAda();
    const full = new Map(
      Array.from({ length: GRANTS_MAX - 1 }, (_, n) => [`edit:/${n}`, "write"] as const),
    );
    const { connection } = life.now;
    life.session = { ...life.now, connection: { ...connection, sessionGrants: full } };
    const locations = [{ path: "/x" }, { path: "/y" }];
    const toolCall = { toolCallId: "c", kind: "edit", locations };
    expect(granted(voted(life, { toolCall }))).toEqual([false, 0]);
  });

  it("says so: as the answer to a question, which allows no call", () => {
    expect(granted(voted(ofAda(), { kind: "user_question" }))).toEqual([false, 0]);
  });

  it("and one that grants says nothing beside the grants", () => {
    expect(granted(voted(ofAda(), {}))).toEqual([undefined, 1]);
  });
});

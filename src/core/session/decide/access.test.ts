import { describe, expect, it } from "vitest";
import type { Access } from "../../policy/access.ts";
import type { GuardOpinion } from "../../policy/gate.ts";
import type { Decision } from "../draft.ts";
import { AGENT, askId, client, dataOf, Life, newAsk, types } from "../life.fixture.ts";
import type { Creation } from "../state.ts";

const RUN: Access = { action: "terminal", command: "rm -rf build", cwd: "/w" };
const WRITE: Access = { action: "write", path: "/w/a.ts" };
const READ: Access = { action: "read", path: "/w/src/a.ts" };

const once = { outcome: "selected", optionId: "yes" } as const;
const always = { outcome: "selected", optionId: "always" } as const;
const no = { outcome: "selected", optionId: "no" } as const;

const asks = (toolCall: object, id = "a1") =>
  newAsk(id, { toolCall: { toolCallId: "call", kind: "execute", title: "Bash", ...toolCall } });
const toRun = (command: string, id = "a1") => asks({ rawInput: { command } }, id);

let requests = 0;

function wants(life: Life, access: Access, guard?: GuardOpinion): Decision {
  requests += 1;
  const mediation = { policy: "first-responder", quorum: null, present: [] } as const;
  const requestId = askId(`x${requests}`);
  const about = { requestId, access, ...mediation, ...(guard && { guard }) };
  return life.give("access", { ...about, deadlineAtMs: null }, AGENT);
}

/** What was decided at once; null if people were asked. */
function ruled(life: Life, access: Access) {
  const [decided = null] = dataOf(wants(life, access).events, "agent_access");
  return decided && { allowed: decided.allowed, by: decided.by };
}

function answered(life: Life, ask: ReturnType<typeof newAsk>, outcome: typeof once | typeof no) {
  life.give("ask", ask, AGENT);
  life.give("vote", { requestId: ask.requestId, outcome });
  return life;
}

const WITHDRAWN_ASK = { requestId: askId("a1"), reason: "withdrawn" } as const;
const LATE_ASK = { of: "ask", requestId: askId("a1") } as const;

const running = (creation: Partial<Creation> = {}) => new Life().running(creation);

const ended = (toolCallId = "call") => ({
  update: { sessionUpdate: "tool_call_update", toolCallId, status: "completed" },
});

describe("an access that a granted ask covers", () => {
  const granted = () => answered(running(), toRun("rm -rf build"), once);
  const covered = { allowed: true, by: "ask" };

  it("is done, is an event that names the ask, and asks nobody again", () => {
    const decision = wants(granted(), RUN);
    expect(types(decision)).toEqual(["agent_access"]);
    expect(dataOf(decision.events, "agent_access")).toMatchObject([
      { access: RUN, tier: "execute", allowed: true, by: "ask", answeredBy: "a1" },
    ]);
  });

  it("is covered once: a second execution asks people", () => {
    const life = granted();
    expect(ruled(life, RUN)).toEqual(covered);
    expect(ruled(life, RUN)).toBeNull();
    expect(life.state).toBe("waiting");
  });

  it("is the granted command to the byte", () => {
    expect(ruled(granted(), { ...RUN, command: "rm -rf build " })).toBeNull();
    expect(ruled(granted(), { ...RUN, command: "rm -rf buil" })).toBeNull();
  });

  it("belongs to a tool call that has not ended", () => {
    const life = granted();
    life.give("agent_update", ended(), AGENT);
    expect(ruled(life, RUN)).toBeNull();
  });

  it("belongs to the turn in which it was granted", () => {
    const life = granted();
    life.complete("t1");
    life.prompt("p2");
    life.begin("p2", "t2");
    expect(ruled(life, RUN)).toBeNull();
  });

  it("is covered by a gate's answer as by a person's", () => {
    const life = running({ autonomyProfile: "autonomous" });
    life.give("ask", toRun("rm -rf build"), AGENT);
    expect(ruled(life, RUN)).toEqual(covered);
  });

  it("is a file by its path, relative or not, and each file of an ask once", () => {
    const paths = [{ path: "a.ts" }, { path: "/w/./b.ts" }];
    const life = answered(running(), asks({ kind: "edit", locations: paths }), once);
    expect(ruled(life, { action: "write", path: `${CWD}/a.ts` })).toEqual(covered);
    expect(ruled(life, { action: "write", path: "/w/b.ts" })).toEqual(covered);
    expect(ruled(life, { action: "write", path: "/w/b.ts" })).toBeNull();
  });

  it("is the file that an unknown kind of call names, unless it is one that only reads", () => {
    const path = { rawInput: { path: "/w/a.ts", content: "x" } };
    const other = asks({ kind: "other", title: "write", ...path });
    expect(ruled(answered(running(), other, once), WRITE)).toEqual(covered);
    expect(ruled(answered(running(), other, no), WRITE)).toEqual({ allowed: false, by: "ask" });
    const reads = asks({ kind: "read", title: "read", ...path });
    expect(ruled(answered(running(), reads, once), WRITE)).toBeNull();
  });

  it("P4: is nothing that the call says later, whatever was allowed", () => {
    for (const ask of [asks({}), asks({ kind: "read" }), asks({ kind: "switch_mode" })]) {
      const life = answered(running(), ask, once);
      const call = { toolCallId: "call", rawInput: { command: "rm -rf build" } };
      life.give("agent_update", { update: { sessionUpdate: "tool_call_update", ...call } }, AGENT);
      expect(ruled(life, RUN)).toBeNull();
    }
  });

  it("is one write, however often the ask spells the place", () => {
    const paths = ["/w/a.ts", "/w/./a.ts", "/w//a.ts"].map((path) => ({ path }));
    const life = answered(running(), asks({ kind: "edit", locations: paths }), once);
    expect(ruled(life, WRITE)).toEqual(covered);
    expect(ruled(life, WRITE)).toBeNull();
  });

  it("P4: is no write of a place that was allowed to be deleted", () => {
    const ask = asks({ kind: "delete", locations: [{ path: "/w/a.ts" }] });
    expect(ruled(answered(running(), ask, once), WRITE)).toBeNull();
  });
});

describe("an access that no ask covers", () => {
  it.each([RUN, WRITE])("asks people: %j", (access) => {
    const life = running();
    const decision = wants(life, access);
    expect(types(decision)).toEqual(["permission_request", "session_status"]);
    expect(dataOf(decision.events, "permission_request")).toMatchObject([{ access }]);
    expect(life.state).toBe("waiting");
  });

  it("is done or not as they say, and told as an event in the same commit", () => {
    for (const optionId of ["allow_once", "reject_once"]) {
      const life = running();
      wants(life, RUN);
      const requestId = askId(`x${requests}`);
      const outcome = { outcome: "selected", optionId } as const;
      const decision = life.give("vote", { requestId, outcome });
      expect(types(decision)).toEqual(["permission_resolved", "agent_access", "session_status"]);
      const allowed = optionId === "allow_once";
      expect(dataOf(decision.events, "agent_access")).toMatchObject([
        { allowed, by: "vote", access: RUN },
      ]);
    }
  });

  it.each([RUN, WRITE])("is refused after a denial of the same in this turn: %j", (access) => {
    const edit = asks({ kind: "edit", locations: [{ path: "/w/a.ts" }] }, "a2");
    const life = answered(answered(running(), toRun("rm -rf build"), no), edit, no);
    expect(ruled(life, access)).toEqual({ allowed: false, by: "ask" });
  });

  it.each([
    ["withdrawn", (life: Life) => life.give("ask_withdrawn", WITHDRAWN_ASK, AGENT)],
    ["late", (life: Life) => life.give("deadline_passed", { deadline: LATE_ASK })],
  ])("asks people if an ask about the same was %s: nobody has refused it", (_what, end) => {
    const life = running();
    life.give("ask", toRun("rm -rf build"), AGENT);
    end(life);
    expect(ruled(life, RUN)).toBeNull();
  });

  it("is done if the same was allowed after a denial", () => {
    const life = answered(running(), toRun("rm -rf build"), no);
    expect(ruled(answered(life, toRun("rm -rf build", "a2"), once), RUN)?.allowed).toBe(true);
  });

  it.each([RUN, WRITE])("is refused in plan, even for yolo: %j", (access) => {
    const life = running({ approvalMode: "plan", securityMode: "yolo" });
    expect(ruled(life, access)).toEqual({ allowed: false, by: "plan" });
  });

  it.each([RUN, WRITE])("is refused where an allowlist does not name it: %j", (access) => {
    const life = running({ securityMode: "allowlist", allowlist: ["read:*"] });
    expect(ruled(life, access)).toEqual({ allowed: false, by: "security_mode" });
  });

  it.each([
    [RUN, "execute:rm *"],
    [WRITE, "edit:/w/*"],
  ])("is done where an allowlist names it: %j by %s", (access, pattern) => {
    const life = running({ securityMode: "allowlist", allowlist: [pattern] });
    expect(ruled(life, access)).toEqual({ allowed: true, by: "security_mode" });
  });

  it.each([RUN, WRITE])("P4: is refused outside a turn: %j", (access) => {
    expect(ruled(new Life().ready(), access)).toEqual({ allowed: false, by: "turn" });
  });

  it("P4: is refused in a turn that is being stopped, even if it was granted", () => {
    const life = answered(running(), toRun("rm -rf build"), once);
    life.give("cancel", {}, client(null));
    expect(ruled(life, RUN)).toEqual({ allowed: false, by: "turn" });
  });

  it("is done in yolo, and up to the tier of the autonomy profile", () => {
    expect(ruled(running({ securityMode: "yolo" }), RUN)?.allowed).toBe(true);
    const life = running({ autonomyProfile: "balanced" });
    const inside: Access = { action: "write", path: "/workspace/a.ts" };
    expect(ruled(life, inside)).toEqual({ allowed: true, by: "autonomy_profile" });
    // Elsewhere people decide each write.
    expect(ruled(life, WRITE)).toBeNull();
    expect(ruled(life, RUN)).toBeNull();
  });

  it("is done by a grant for exactly this, in later turns too", () => {
    const life = running();
    const ask = toRun("rm -rf build");
    life.give("ask", ask, AGENT);
    life.give("vote", { requestId: ask.requestId, outcome: always });
    life.give("agent_update", ended(), AGENT);
    expect(ruled(life, RUN)).toEqual({ allowed: true, by: "grant" });
    expect(ruled(life, { ...RUN, command: "rm -rf ." })).toBeNull();
  });
});

describe("an access that an extension's guard wants to stop", () => {
  const deny = { verdict: "deny", extension: "guard-paths", reason: "no" } as const;
  const ask = { verdict: "ask", extension: "guard-paths", reason: "look" } as const;

  it.each<[Access, Partial<Creation>]>([
    [RUN, { securityMode: "yolo" }],
    [WRITE, {}],
    [READ, {}],
  ])("is refused or put to people, and the event says by which: %j", (access, creation) => {
    const refused = wants(running(creation), access, deny);
    expect(dataOf(refused.events, "agent_access")).toMatchObject([
      { allowed: false, by: "extension", guard: deny },
    ]);
    const asked = wants(running(creation), access, ask);
    expect(dataOf(asked.events, "permission_request")).toMatchObject([{ access, guard: ask }]);
  });

  it("is refused all the same where the session refuses it", () => {
    const decision = wants(running({ approvalMode: "plan" }), RUN, ask);
    expect(dataOf(decision.events, "agent_access")).toMatchObject([{ allowed: false, by: "plan" }]);
  });

  it("is done if people were asked about the same in this turn: the guard had its say", () => {
    const life = answered(running(), toRun("rm -rf build"), once);
    const [decided] = dataOf(wants(life, RUN, deny).events, "agent_access");
    expect(decided).toMatchObject({ allowed: true, by: "ask" });
  });
});

describe("reading inside the workspace", () => {
  it.each<[string, Partial<Creation>]>([
    ["as usual", {}],
    ["in plan", { approvalMode: "plan" }],
    ["in yolo", { securityMode: "yolo" }],
  ])("is answered without asking, and is an event: %s", (_what, creation) => {
    expect(ruled(running(creation), READ)).toEqual({ allowed: true, by: "workspace" });
  });

  it("is answered outside a turn: agents read to remember", () => {
    expect(ruled(new Life().ready(), READ)?.allowed).toBe(true);
  });

  it.each<[string, boolean]>([
    ["read:/w/src/*", true],
    ["read:src/*", true],
    ["*", true],
    ["read:/w/lib/*", false],
    ["edit:*", false],
  ])("needs a matching entry of an allowlist: %s gives %s", (pattern, allowed) => {
    const creation = {
      workspaceCwd: "/w",
      securityMode: "allowlist",
      allowlist: [pattern],
    } as const;
    expect(ruled(running(creation), READ)).toEqual({ allowed, by: "security_mode" });
  });
});

const CWD = new Life().running().now.chosen.currentCwd;

import { describe, expect, it } from "vitest";
import type { MediationPolicy } from "../../core/policy/ask.ts";
import { named } from "../../session/runtime.fixture.ts";
import { type Call, STRANGER } from "../daemon.fixture.ts";
import type { Daemon } from "../daemon.ts";
import type { Route, ServerRequest } from "../http/route.ts";
import type { StreamClient } from "../http/stream-client.fixture.ts";
import { heard, openWork, Work, withoutError, workRoutes } from "./work.fixture.ts";

const ALLOW = { outcome: { outcome: "selected", optionId: "allow_once" } };
const CANCEL = { outcome: { outcome: "cancelled" } };

/** Votes do not read this header. Here it marks a request from another machine. */
const AFAR = { "x-qwen-event-epoch": "afar" };

function fromAfar(daemon: Daemon): readonly Route[] {
  return workRoutes(daemon).map((row) => {
    if (row.gate === "open") return row;
    return {
      ...row,
      handle: (request: ServerRequest) => {
        const isLoopbackPeer = request.header("x-qwen-event-epoch") !== "afar";
        return row.handle({ ...request, isLoopbackPeer });
      },
    };
  });
}

interface Asked {
  readonly work: Work;
  readonly stream: StreamClient;
  readonly promptId: string;
  readonly requestId: string;
  vote(body: unknown, call?: Call): ReturnType<Work["call"]>;
}

/** Ada's prompt has the agent ask, with Bob and Cleo there. */
async function asked(policy: MediationPolicy = "first-responder"): Promise<Asked> {
  const world = await openWork({ routes: fromAfar, stage: { settings: { policy } } });
  const work = await Work.made(world, "ada", "bob", "cleo");
  const stream = await work.stream();
  const promptId = await work.admitted("ask", { clientId: "ada" });
  const request = await heard(stream, "permission_request");
  const requestId = String(request.data.data.requestId);
  return {
    work,
    stream,
    promptId,
    requestId,
    vote: (body, call) => work.call("POST", `/permission/${requestId}`, { body, ...call }),
  };
}

describe("a vote under first-responder", () => {
  it("decides at once, whoever it comes from, and the agent goes on", async () => {
    const { work, stream, promptId, requestId, vote } = await asked();
    const answer = await vote(ALLOW, { clientId: "bob" });
    expect([answer.status, answer.text]).toEqual([200, "{}"]);
    const resolved = await heard(stream, "permission_resolved");
    expect(resolved.data).toMatchObject({
      originatorClientId: "bob",
      data: { requestId, outcome: ALLOW.outcome, voterClientId: "bob" },
    });
    await heard(stream, "turn_complete", promptId);
    const late = await vote(ALLOW, { clientId: "cleo" });
    expect(late.status).toBe(404);
    expect(withoutError(late.body)).toEqual({
      code: "ask_already_resolved",
      sessionId: work.id,
      requestId,
    });
    const told = await heard(stream, "permission_already_resolved");
    expect(told.data).toMatchObject({
      promptId,
      originatorClientId: "cleo",
      data: { requestId, outcome: ALLOW.outcome },
    });
  });

  it("may come without a name, and from afar", async () => {
    const { vote } = await asked();
    expect((await vote(ALLOW, { headers: AFAR })).status).toBe(200);
  });

  it("is decided once when two come at the same time", async () => {
    const { stream, promptId, vote } = await asked();
    const votes = await Promise.all(["ada", "bob"].map((clientId) => vote(ALLOW, { clientId })));
    expect(votes.map(({ status }) => status).sort()).toEqual([200, 404]);
    await heard(stream, "turn_complete", promptId);
    const resolved = stream.frames.filter(({ event }) => event === "permission_resolved");
    expect(resolved).toHaveLength(1);
  });
});

describe("a vote under designated", () => {
  it("is for whoever sent the prompt", async () => {
    const { work, stream, requestId, vote } = await asked("designated");
    for (const call of [{ clientId: "bob" }, {}]) {
      const answer = await vote(ALLOW, call);
      expect(answer.status).toBe(403);
      expect(withoutError(answer.body)).toEqual({
        code: "permission_forbidden",
        requestId,
        sessionId: work.id,
        reason: "designated_mismatch",
      });
    }
    const forbidden = await heard(stream, "permission_forbidden");
    expect(forbidden.data).toMatchObject({
      originatorClientId: "ada",
      data: { requestId, clientId: "bob", reason: "designated_mismatch" },
    });
    expect((await vote(ALLOW, { clientId: "ada" })).status).toBe(200);
  });

  it("of the others can still call it off", async () => {
    const { stream, vote } = await asked("designated");
    expect((await vote(CANCEL, { clientId: "bob" })).status).toBe(200);
    const resolved = await heard(stream, "permission_resolved");
    expect(resolved.data.data.outcome).toEqual({ outcome: "cancelled" });
  });
});

describe("a vote under consensus", () => {
  it("counts towards a majority of those who were there", async () => {
    const { stream, requestId, vote } = await asked("consensus");
    expect((await vote(ALLOW, { clientId: "bob" })).status).toBe(200);
    const partial = await heard(stream, "permission_partial_vote");
    expect(partial.data.data).toMatchObject({
      requestId,
      votesReceived: 1,
      votesNeeded: 1,
      quorum: 2,
      optionTallies: { allow_once: 1 },
    });
    expect((await vote(ALLOW, { clientId: "bob" })).status).toBe(200);
    expect((await vote(ALLOW)).status).toBe(403);
    expect((await vote(ALLOW, { clientId: "cleo" })).status).toBe(200);
    await heard(stream, "permission_resolved");
    const partials = stream.frames.filter(({ event }) => event === "permission_partial_vote");
    expect(partials).toHaveLength(1);
  });

  it("P4: of somebody who came later is not counted", async () => {
    const { work, vote } = await asked("consensus");
    await work.world.daemon.host.attach(work.live.key, named("dora"));
    const answer = await vote(ALLOW, { clientId: "dora" });
    expect([answer.status, answer.body.reason]).toEqual([403, "designated_mismatch"]);
  });
});

describe("a vote under local-only", () => {
  it("is for whoever sits at this machine, with or without a name", async () => {
    const { work, requestId, vote } = await asked("local-only");
    const afar = await vote(ALLOW, { clientId: "ada", headers: AFAR });
    expect(afar.status).toBe(403);
    expect(withoutError(afar.body)).toEqual({
      code: "permission_forbidden",
      requestId,
      sessionId: work.id,
      reason: "remote_not_allowed",
    });
    expect((await vote(ALLOW)).status).toBe(200);
  });
});

describe("the checks of a vote", () => {
  it("come in the wire's order (8.3)", async () => {
    const { work, requestId, vote } = await asked();
    const { world } = work;
    const bad = { outcome: { outcome: "maybe" } };
    const sentinel = { outcome: { outcome: "selected", optionId: "__cancelled__" } };
    const other = { outcome: { outcome: "selected", optionId: "other" } };
    const codeOf = async (path: string, body: unknown, clientId = "ada") => {
      const answer = await world.call("POST", path, { body, clientId });
      return `${answer.status} ${answer.body.code}`;
    };
    const here = `${work.path}/permission/${requestId}`;
    const elsewhere = `/session/nobody/permission/${requestId}`;
    expect(await codeOf(elsewhere, bad, "no name")).toBe("400 invalid_request");
    expect(await codeOf(elsewhere, ALLOW, "no name")).toBe("400 invalid_client_id");
    expect(await codeOf(elsewhere, ALLOW, "eve")).toBe("404 session_not_found");
    expect(await codeOf(`${work.path}/permission/none`, ALLOW, "eve")).toBe("404 ask_not_found");
    expect(await codeOf(`${work.path}/permission/no%20id`, ALLOW)).toBe("404 ask_not_found");
    expect(await codeOf(here, sentinel, "eve")).toBe("400 invalid_client_id");
    expect(await codeOf(here, sentinel)).toBe("400 invalid_option_id");
    expect(await codeOf(here, other)).toBe("400 invalid_option_id");
    await vote(CANCEL);
    expect(await codeOf(here, sentinel)).toBe("400 invalid_option_id");
    expect(await codeOf(here, other)).toBe("404 ask_already_resolved");
  });

  it("begin with the body", async () => {
    const world = await openWork();
    const malformed = [
      {},
      { outcome: { outcome: "selected", optionId: "" } },
      { outcome: { outcome: "selected" } },
      { ...ALLOW, answers: { a: 1 } },
    ];
    for (const body of malformed) {
      const answer = await world.call("POST", "/session/nobody/permission/r", { body });
      expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
    }
  });
});

describe("a vote by the request alone", () => {
  it("finds its session among the caller's", async () => {
    const { stream, requestId, work } = await asked();
    const path = `/permission/${requestId}`;
    const answer = await work.world.call("POST", path, { body: ALLOW, clientId: "bob" });
    expect([answer.status, answer.text]).toEqual([200, "{}"]);
    await heard(stream, "permission_resolved");
    const late = await work.world.call("POST", path, { body: ALLOW });
    expect(late.status).toBe(404);
    await heard(stream, "permission_already_resolved");
  });

  it("P8: knows neither strangers' requests nor those that never were", async () => {
    const { requestId, work } = await asked();
    const { world } = work;
    const foreign = await world.call("POST", `/permission/${requestId}`, {
      body: ALLOW,
      as: STRANGER,
    });
    const unknown = await world.call("POST", "/permission/none", { body: ALLOW });
    expect([foreign.status, unknown.status]).toEqual([404, 404]);
    expect(unknown.body).toEqual({
      error: "No pending permission request",
      code: "ask_not_found",
      requestId: "none",
    });
    expect(foreign.text).toBe(unknown.text.replaceAll('"none"', `"${requestId}"`));
    expect(work.live.session.connection.sessionState).toBe("waiting");
  });

  it("is checked like any other", async () => {
    const { requestId, work } = await asked();
    const path = `/permission/${requestId}`;
    const eve = await work.world.call("POST", path, { body: ALLOW, clientId: "eve" });
    expect([eve.status, eve.body.code]).toEqual([400, "invalid_client_id"]);
    const other = { outcome: { outcome: "selected", optionId: "other" } };
    const answer = await work.world.call("POST", path, { body: other });
    expect(withoutError(answer.body)).toEqual({
      code: "invalid_option_id",
      requestId,
      optionId: "other",
    });
  });
});

describe("answers to a question", () => {
  it("reach the agent with the vote", async () => {
    const work = await Work.made(await openWork());
    const stream = await work.stream();
    const promptId = await work.admitted("question field=colour Which?");
    const { data } = (await heard(stream, "permission_request")).data;
    const [option] = Object(data).options;
    const outcome = { outcome: "selected", optionId: option.optionId };
    const body = { outcome, answers: { colour: "blue" } };
    await work.call("POST", `/permission/${data.requestId}`, { body });
    await heard(stream, "turn_complete", promptId);
    const said = stream.frames.map((frame) => JSON.stringify(frame.data.data)).join("");
    expect(said).toContain("blue");
  });
});

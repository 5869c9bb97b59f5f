import type { TraceReader, WireLine } from "../../agent/keeper.ts";
import { unknownAgent } from "../../core/agent-name.ts";
import { refusal } from "../../core/error.ts";
import type { JsonObject } from "../../core/json.ts";
import {
  AGENT_TRACE_LINE_CHARS_MAX,
  AGENT_TRACE_WAITING_CHARS_MAX,
  AGENT_TRACES_MAX,
} from "../../core/limits.ts";
import { isPermitted } from "../../core/permission.ts";
import type { Result } from "../../core/result.ts";
import { cutText } from "../../core/text.ts";
import { type ChangeAct, changeEntry } from "../../session/index.ts";
import type { Daemon } from "../daemon.ts";
import { type Answer, answerTo, empty, file, json, refused } from "../http/answer.ts";
import { isOperator } from "../http/authenticator.ts";
import { stewardOf } from "../http/request-schema.ts";
import { type Caller, type Route, route, type ServerRequest } from "../http/route.ts";
import { ABOUT_AGENTS } from "./about/agents.ts";

/** Which agents there are; for those who operate them or write one, also their processes. Ours. */
export function agentsRoutes(daemon: Daemon): readonly Route[] {
  const { keeper } = daemon;
  return [
    route({
      method: "GET",
      path: "/agents",
      about: ABOUT_AGENTS.list,
      needs: "session:read",
      async handle({ caller }) {
        const agents = await daemon.knownAgents.list();
        const { defaultAgent } = daemon.sessions;
        const isOperating = isPermitted(caller.role, "agents:write");
        return json(200, {
          agents: agents.map((agent) => ({ ...agent, default: agent.name === defaultAgent })),
          ...(isOperating && { processes: keeper.processes(caller.tenantId) }),
        });
      },
    }),
    route({
      method: "GET",
      path: "/agents/trace",
      about: ABOUT_AGENTS.trace,
      needs: "agents:write",
      rate: "exempt",
      handle: async (request) => traceOf(daemon, request),
    }),
    route({
      method: "GET",
      path: "/agents/:name/logs",
      about: ABOUT_AGENTS.logs,
      needs: "agents:write",
      handle: async ({ caller, params }) =>
        auditedAnswer(daemon, caller, { act: "agent_logs_read", agent: params.name }, () => {
          const logs = keeper.logs(caller.tenantId, params.name);
          const shown = logs.map((log) => ({ ...log, text: daemon.redact(log.text) }));
          return json(200, { logs: shown });
        }),
    }),
    route({
      method: "POST",
      path: "/agents/:name/restart",
      about: ABOUT_AGENTS.restart,
      needs: "agents:write",
      handle: async ({ caller, params }) =>
        auditedAnswer(daemon, caller, { act: "agent_restarted", agent: params.name }, () => {
          return json(200, keeper.restart(caller.tenantId, params.name));
        }),
    }),
    route({
      method: "POST",
      path: "/agents/:name/logout",
      about: ABOUT_AGENTS.logout,
      needs: "agents:write",
      handle: async ({ caller, params }) => {
        const { tenantId, userId } = caller;
        const [workspace = "."] = daemon.settings.workspaces;
        const whose = { tenantId, userId, profile: params.name, workspace, asks: true };
        return auditedAnswer(daemon, caller, { act: "agent_signed_out", agent: params.name }, () =>
          keeper.calls
            .logout(whose, isOperator(caller))
            .then((done) => answerTo(done, () => empty())),
        );
      },
    }),
  ];
}

/** Writes the audit entry first: what cannot be audited is neither done nor shown. */
export async function auditedAnswer(
  daemon: Daemon,
  caller: Caller,
  { act, agent }: { readonly act: ChangeAct; readonly agent: string },
  answer: () => Answer | Promise<Answer>,
): Promise<Answer> {
  const { agentNames } = daemon.sessions;
  if (!agentNames.includes(agent)) {
    return refused(unknownAgent(agent, agentNames).refusal);
  }
  const written = await audited(daemon, caller, act, { agent });
  return written.ok ? answer() : refused(written.refusal);
}

function audited(
  { store, clock }: Daemon,
  caller: Caller,
  act: ChangeAct,
  details: JsonObject,
): Promise<Result<void>> {
  const atMs = clock.nowMs();
  const entry = changeEntry({ act, by: stewardOf(caller), details, atMs });
  return store.appendJournal(caller.tenantId, [entry]);
}

/** Streams JSON lines until the client disconnects, loses its permission, or the server stops. */
async function traceOf(
  daemon: Daemon,
  { caller, signal }: ServerRequest<unknown>,
): Promise<Answer> {
  const { keeper } = daemon;
  const queue = new TraceQueue((line) => daemon.redact(line));
  const leave = keeper.trace(caller.tenantId, queue);
  if (leave === null) return refused(refusal("trace_limit_exceeded", { limit: AGENT_TRACES_MAX }));
  const ended = () => {
    leave();
    queue.ended();
  };
  signal.addEventListener("abort", ended, { once: true });
  if (signal.aborted) ended();
  const begun = await audited(daemon, caller, "agents_traced", {});
  if (!begun.ok) ended();
  return answerTo(begun, () => {
    return { ...file("application/x-ndjson", queue.pieces()), afterwards: ended, end: ended };
  });
}

/**
 * Lines that wait for one trace reader. Agents never wait for it: a slow reader loses lines, and
 * the stream says how many (P10).
 */
export class TraceQueue implements TraceReader {
  readonly #redact: (text: string) => string;
  #waiting: string[] = [];
  #waitingChars = 0;
  #lost = 0;
  #isOver = false;
  #wake: () => void = () => {};

  /** `redact` removes known secrets from a line before it is cut (P11). */
  constructor(redact: (text: string) => string) {
    this.#redact = redact;
  }

  line({ atMs, line, ...about }: WireLine) {
    if (this.#isOver) return;
    if (this.#waitingChars + line.length > AGENT_TRACE_WAITING_CHARS_MAX) {
      this.#lost += 1;
      return;
    }
    this.#tellLost();
    const whole = this.#redact(line);
    const cut = cutText(whole, AGENT_TRACE_LINE_CHARS_MAX);
    const cutChars = whole.length - cut.length;
    const at = new Date(atMs).toISOString();
    this.#add({ at, ...about, line: cut, ...(cutChars > 0 && { cutChars }) });
  }

  ended() {
    this.#isOver = true;
    this.#wake();
  }

  /** The first line is sent at once, so that the client sees that the trace has begun. */
  async *pieces(): AsyncGenerator<string> {
    yield `${JSON.stringify({ at: new Date().toISOString(), trace: "begun" })}\n`;
    for (;;) {
      const waiting = this.#waiting;
      this.#waiting = [];
      this.#waitingChars = 0;
      if (waiting.length > 0) yield waiting.join("");
      else if (this.#isOver) return;
      else if (this.#lost > 0) this.#tellLost();
      else await this.#next();
    }
  }

  #tellLost() {
    if (this.#lost === 0) return;
    const lost = this.#lost;
    this.#lost = 0;
    this.#add({ at: new Date().toISOString(), lost });
  }

  #add(entry: object) {
    const text = `${JSON.stringify(entry)}\n`;
    this.#waiting.push(text);
    this.#waitingChars += text.length;
    this.#wake();
  }

  async #next(): Promise<void> {
    await new Promise<void>((wake) => {
      this.#wake = wake;
    });
  }
}

import type { ContentBlock } from "../../core/agent-update.ts";
import { type JsonObject, stringAt } from "../../core/json.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { AGENT_METHODS } from "../../wire/acp.ts";
import { RPC_ERRORS } from "../../wire/rpc.ts";
import type { AgentOrder, AgentPast, PastMessage } from "../agent.ts";
import type { CallLimit } from "../call-limit.ts";
import type { AgentProfile } from "../profile/profile.ts";
import { type AgentAbilities, fitServers } from "./capability.ts";
import { type Callee, type AnswerObserver, request } from "./request.ts";
import type { Arrival } from "./session.ts";
import { AGENT_SEED_CHARS_MAX, AGENT_SEED_MESSAGES_MAX } from "../../core/limits.ts";
import { cutText } from "../../core/text.ts";

interface Way {
  readonly callee: Callee;
  readonly abilities: AgentAbilities;
  readonly profile: AgentProfile;
  readonly order: AgentOrder;
  /** How long it may take to begin a session. */
  readonly newLimit: CallLimit;
  /** Whether the agent was given a variable of this name. */
  isSet(variable: string): boolean;
  /** False as soon as nobody waits for the session any more. */
  isWanted(): boolean;
  /** The agent is to remember the session of this name; false if that is another's now. */
  awaited(agentSessionId: string, isReplayed: boolean): boolean;
  /** It has the session, under this name, and said this; false if the name is another's. */
  begun(agentSessionId: string, answer: JsonObject): boolean;
  /** It could not remember the session. */
  notBegun(): void;
  /** It has not answered in time: nobody else should come to it. */
  hung(): void;
  /** It has the session of this name, but came to it when nobody waited any more. */
  late(agentSessionId: string): void;
}

/**
 * Brings a session to its agent, with its past by the best way that there is: the agent resumes
 * it, or loads it, or is told of it in front of the next prompt. A way that fails is not the end:
 * the next one is tried, so that a conversation goes on with whatever agent there is (P6).
 */
export async function arrive(way: Way): Promise<Result<Arrival>> {
  const { order, abilities, profile } = way;
  const id = order.past?.agentSessionId ?? null;
  if (id !== null && abilities.resume && profile.resume === "auto") {
    const resumed = await restore(way, AGENT_METHODS.resumeSession, id, "resumed");
    if (resumed !== null) return resumed;
  }
  if (id !== null && abilities.load && profile.resume !== "seed") {
    const loaded = await restore(way, AGENT_METHODS.loadSession, id, "loaded");
    if (loaded !== null) return loaded;
  }
  return begin(way);
}

/** Whether a refusal says that the agent went while it was to remember something. */
export function diedOfRestoring(method: unknown): boolean {
  return method === AGENT_METHODS.resumeSession || method === AGENT_METHODS.loadSession;
}

/** Null if this way is closed and another may be tried; an agent that is gone is the end. */
async function restore(
  way: Way,
  method: string,
  agentSessionId: string,
  context: "resumed" | "loaded",
): Promise<Result<Arrival> | null> {
  // Two sessions of ours cannot be one session of the agent's, whatever they remember.
  if (!way.awaited(agentSessionId, context === "loaded")) return null;
  const { skipped, ...params } = sessionParams(way);
  const all = { ...params, sessionId: agentSessionId };
  const restored = await authenticated(way, method, all, way.profile.limits.restoreMs, {
    settled: (answer) => void way.begun(agentSessionId, answer),
    late: () => way.late(agentSessionId),
  });
  if (restored.ok) return ok({ agentSessionId, context, skipped, preface: [] });
  way.notBegun();
  if (restored.refusal.code === "agent_call_timeout") way.hung();
  return restored.refusal.code === "agent_gone" ? restored : null;
}

async function begin(way: Way): Promise<Result<Arrival>> {
  const { order, abilities } = way;
  // Before the agent makes anything: if the past cannot be read there is nothing to take back.
  const seed = order.past === null ? ok(null) : await seeded(order.past);
  if (!seed.ok) return seed;
  if (!way.isWanted()) return fail("agent_gone", { exit: "nobody waits for the session" });
  const { skipped, ...params } = sessionParams(way);
  const method = AGENT_METHODS.newSession;
  let fault: string | null = "it gave no id";
  const made = await authenticated(way, method, params, way.newLimit, {
    settled: (answer) => {
      const id = stringAt(answer, "sessionId");
      if (id !== null) fault = way.begun(id, answer) ? null : "it gave the id of another session";
    },
    late: (answer) => {
      const id = stringAt(answer, "sessionId");
      if (id !== null) way.late(id);
    },
  });
  if (!made.ok && made.refusal.code === "agent_call_timeout") way.hung();
  if (!made.ok) return made;
  const agentSessionId = stringAt(made.value, "sessionId");
  if (agentSessionId === null || fault !== null) {
    return fail("agent_call_failed", { method, reason: fault ?? "" });
  }
  const persona = abilities.systemPrompt ? null : personaOf(order);
  const preface = [persona, seed.value].filter((block) => block !== null);
  const context = order.past === null ? "new" : "seeded";
  return ok({ agentSessionId, context, skipped, preface });
}

async function seeded(past: AgentPast): Promise<Result<ContentBlock | null>> {
  try {
    return ok(await seedOf(past.messages()));
  } catch (thrown) {
    return fail("store_unavailable", { reason: `the conversation cannot be read, ${thrown}` });
  }
}

/** What every way of beginning a session is told. */
function sessionParams({ order, abilities }: Way) {
  const { cwd, systemPrompt } = order;
  const { mcpServers, skipped } = fitServers(order.mcpServers, abilities.capabilities);
  const content = [{ type: "text", text: systemPrompt }];
  const told = systemPrompt !== null && abilities.systemPrompt;
  const persona = told ? { systemPrompt: { mode: "append", content } } : {};
  return { cwd, mcpServers, ...persona, skipped };
}

/** For an agent without a place for it: one marked block, once. */
function personaOf({ systemPrompt }: AgentOrder): ContentBlock | null {
  if (systemPrompt === null) return null;
  return { type: "text", text: `<instructions>\n${systemPrompt}\n</instructions>` };
}

/** Signs in where the agent wants that and the profile says how, and then asks once more. */
async function authenticated(
  way: Way,
  method: string,
  params: JsonObject,
  limit: CallLimit,
  hearing: AnswerObserver,
): Promise<Result<JsonObject>> {
  const { callee, profile, abilities } = way;
  const first = await request(callee, method, params, limit, hearing);
  if (first.ok || first.refusal.details.rpcCode !== RPC_ERRORS.authRequired) return first;
  const methods = abilities.authMethods.join(", ") || "no way to do so";
  const hint = profile.signIn === null ? "" : `. ${profile.signIn}`;
  const wanted = (why: string) =>
    fail("agent_auth_required", { profile: profile.name, methods, reason: `${why}${hint}` });
  const methodId = signInMethod(way);
  if (methodId === null) return wanted(whyNone(profile));
  const signedIn = await request(callee, AGENT_METHODS.authenticate, { methodId }, limit);
  if (signedIn.ok) return request(callee, method, params, limit, hearing);
  if (signedIn.refusal.code === "agent_gone") return signedIn;
  return wanted(`"${methodId}" failed: ${signedIn.refusal.details.reason ?? "no answer"}`);
}

/** The first that has what it needs, of those that the agent offers where it offers any of them. */
function signInMethod({ profile, abilities, isSet }: Way): string | null {
  const usable = profile.auth.filter(({ ifSet }) => ifSet.length === 0 || ifSet.some(isSet));
  const offered = usable.find(({ method }) => abilities.authMethods.includes(method));
  return (offered ?? usable[0])?.method ?? null;
}

function whyNone({ auth }: AgentProfile): string {
  if (auth.length === 0) return "its profile names no way";
  const ways = auth.map(({ method, ifSet }) => `"${method}" needs ${ifSet.join(" or ")}`);
  return `no way of its profile can be used: ${ways.join(", ")}`;
}

/**
 * The conversation so far, for an agent that cannot remember it: one block in front of the next
 * prompt. The newest messages are taken first, and those that do not fit are left out whole; only
 * the newest of all is cut, so that there is always something to go on from.
 */
export async function seedOf(
  newestFirst: AsyncIterable<PastMessage>,
): Promise<ContentBlock | null> {
  const taken: string[] = [];
  let chars = 0;
  let isWhole = true;
  for await (const { role, text } of newestFirst) {
    const room = AGENT_SEED_CHARS_MAX - chars;
    const isFull = taken.length >= AGENT_SEED_MESSAGES_MAX || text.length > room;
    if (isFull && taken.length > 0) {
      isWhole = false;
      break;
    }
    const fitting = text.length > room ? `${cutText(text, room)} […]` : text;
    chars += text.length;
    taken.unshift(`${role === "user" ? "User" : "You"}: ${fitting}`);
  }
  if (taken.length === 0) return null;
  const missing = isWhole ? [] : ["[Earlier messages were left out.]"];
  return { type: "text", text: [OPENING, ...missing, ...taken, CLOSING].join("\n\n") };
}

const OPENING =
  "<conversation_so_far>\nThis session was restored. This was said before; do not answer it.";
const CLOSING = "</conversation_so_far>";

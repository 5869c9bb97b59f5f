import type { ContentBlock } from "../../core/agent-update.ts";
import { type JsonObject, stringAt } from "../../core/json.ts";
import { AGENT_SEED_CHARS_MAX, AGENT_SEED_MESSAGES_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { cutText } from "../../core/text.ts";
import { AGENT_METHODS } from "../../wire/acp.ts";
import { RPC_ERRORS } from "../../wire/rpc.ts";
import type { AgentPast, ConnectRequest, PastMessage } from "../agent.ts";
import type { CallLimit } from "../call-limit.ts";
import type { AgentProfile } from "../profile/profile.ts";
import { type AgentAbilities, fitServers } from "./capability.ts";
import { type AnswerObserver, type Callee, request } from "./request.ts";
import type { Arrival } from "./session.ts";

interface ArrivalContext {
  readonly callee: Callee;
  readonly abilities: AgentAbilities;
  readonly profile: AgentProfile;
  readonly request: ConnectRequest;
  /** The timeout of `session/new`. */
  readonly newLimit: CallLimit;
  /** Whether the agent's environment has this variable. */
  isSet(variable: string): boolean;
  /** False as soon as the session was given up. */
  isWanted(): boolean;
  /** Before the agent restores this id; false if the id belongs to another session now. */
  restoring(agentSessionId: string, isReplayed: boolean): boolean;
  /** The agent has the session under this id; false if the id belongs to another session. */
  begun(agentSessionId: string, answer: JsonObject): boolean;
  /** The agent could not restore the session. */
  notRestored(): void;
  /** The agent has not answered in time, and should get no further session. */
  hung(): void;
  /** The agent has made or restored this session after the timeout. */
  late(agentSessionId: string): void;
}

/**
 * Opens a session at its agent, with its past by the best way that the agent has: it resumes it,
 * or loads it, or gets it as text in front of the next prompt. If one way fails the next is tried,
 * so that a conversation goes on with any agent (P6).
 */
export async function arrive(context: ArrivalContext): Promise<Result<Arrival>> {
  const { request, abilities, profile } = context;
  const id = request.past?.agentSessionId ?? null;
  if (id !== null && abilities.resume && profile.resume === "auto") {
    const resumed = await restore(context, AGENT_METHODS.resumeSession, id, "resumed");
    if (resumed !== null) return resumed;
  }
  if (id !== null && abilities.load && profile.resume !== "seed") {
    const loaded = await restore(context, AGENT_METHODS.loadSession, id, "loaded");
    if (loaded !== null) return loaded;
  }
  return begin(context);
}

/** Whether this method restores a session. */
export function isRestoreMethod(method: unknown): boolean {
  return method === AGENT_METHODS.resumeSession || method === AGENT_METHODS.loadSession;
}

/** Null if it failed and another way may be tried; an agent whose process ended is the end. */
async function restore(
  context: ArrivalContext,
  method: string,
  agentSessionId: string,
  as: "resumed" | "loaded",
): Promise<Result<Arrival> | null> {
  // Two sessions of the server cannot share one session of the agent.
  if (!context.restoring(agentSessionId, as === "loaded")) return null;
  const { skipped, ...params } = sessionParams(context);
  const all = { ...params, sessionId: agentSessionId };
  const restored = await authenticated(context, method, all, context.profile.limits.restoreMs, {
    settled: (answer) => void context.begun(agentSessionId, answer),
    late: () => context.late(agentSessionId),
  });
  if (restored.ok) return ok({ agentSessionId, context: as, skipped, preface: [] });
  context.notRestored();
  if (restored.refusal.code === "agent_call_timeout") context.hung();
  return restored.refusal.code === "agent_gone" ? restored : null;
}

async function begin(context: ArrivalContext): Promise<Result<Arrival>> {
  const { request: wanted, abilities } = context;
  // Read the past first: if that fails, the agent has made nothing that must be closed.
  const seed = wanted.past === null ? ok(null) : await seeded(wanted.past);
  if (!seed.ok) return seed;
  if (!context.isWanted()) return fail("agent_gone", { exit: "nobody waits for the session" });
  const { skipped, ...params } = sessionParams(context);
  const method = AGENT_METHODS.newSession;
  let fault: string | null = "it gave no id";
  const made = await authenticated(context, method, params, context.newLimit, {
    settled: (answer) => {
      const id = stringAt(answer, "sessionId");
      if (id !== null)
        fault = context.begun(id, answer) ? null : "it gave the id of another session";
    },
    late: (answer) => {
      const id = stringAt(answer, "sessionId");
      if (id !== null) context.late(id);
    },
  });
  if (!made.ok && made.refusal.code === "agent_call_timeout") context.hung();
  if (!made.ok) return made;
  const agentSessionId = stringAt(made.value, "sessionId");
  if (agentSessionId === null || fault !== null) {
    return fail("agent_call_failed", { method, reason: fault ?? "" });
  }
  const persona = abilities.systemPrompt ? null : personaOf(wanted);
  const preface = [persona, seed.value].filter((block) => block !== null);
  const as = wanted.past === null ? "new" : "seeded";
  return ok({ agentSessionId, context: as, skipped, preface });
}

async function seeded(past: AgentPast): Promise<Result<ContentBlock | null>> {
  try {
    return ok(await seedOf(past.messages()));
  } catch (thrown) {
    return fail("store_unavailable", { reason: `the conversation cannot be read, ${thrown}` });
  }
}

/** The parameters that all three methods share, and what the agent cannot take. */
function sessionParams({ request: wanted, abilities }: ArrivalContext) {
  const { cwd, systemPrompt } = wanted;
  const { mcpServers, skipped } = fitServers(wanted.mcpServers, abilities.capabilities);
  const content = [{ type: "text", text: systemPrompt }];
  const isTaken = systemPrompt !== null && abilities.systemPrompt;
  const persona = isTaken ? { systemPrompt: { mode: "append", content } } : {};
  return { cwd, mcpServers, ...persona, skipped };
}

/** The system prompt as one marked block, for an agent that takes none. */
function personaOf({ systemPrompt }: ConnectRequest): ContentBlock | null {
  if (systemPrompt === null) return null;
  return { type: "text", text: `<instructions>\n${systemPrompt}\n</instructions>` };
}

/** Signs in where the agent requires it and the profile says how, and then calls once more. */
async function authenticated(
  context: ArrivalContext,
  method: string,
  params: JsonObject,
  limit: CallLimit,
  observer: AnswerObserver,
): Promise<Result<JsonObject>> {
  const { callee, profile, abilities } = context;
  const first = await request(callee, method, params, limit, observer);
  if (first.ok || first.refusal.details.rpcCode !== RPC_ERRORS.authRequired) return first;
  const methods = abilities.authMethods.join(", ") || "no way to do so";
  const hint = profile.signIn === null ? "" : `. ${profile.signIn}`;
  const wanted = (why: string) =>
    fail("agent_auth_required", { profile: profile.name, methods, reason: `${why}${hint}` });
  const methodId = signInMethod(context);
  if (methodId === null) return wanted(whyNone(profile));
  const signedIn = await request(callee, AGENT_METHODS.authenticate, { methodId }, limit);
  if (signedIn.ok) return request(callee, method, params, limit, observer);
  if (signedIn.refusal.code === "agent_gone") return signedIn;
  return wanted(`"${methodId}" failed: ${signedIn.refusal.details.reason ?? "no answer"}`);
}

/** The first usable method that the agent offers; if it offers none of them, the first usable. */
function signInMethod({ profile, abilities, isSet }: ArrivalContext): string | null {
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
 * The conversation so far as one text block, for an agent that cannot restore it. The newest
 * messages come first, and those that do not fit are left out whole; only the newest of all is
 * cut, so that there is always something to go on from.
 */
export async function seedOf(
  newestFirst: AsyncIterable<PastMessage>,
): Promise<ContentBlock | null> {
  const taken: string[] = [];
  let chars = 0;
  let isWhole = true;
  for await (const { role, text } of newestFirst) {
    const charsLeft = AGENT_SEED_CHARS_MAX - chars;
    const isFull = taken.length >= AGENT_SEED_MESSAGES_MAX || text.length > charsLeft;
    if (isFull && taken.length > 0) {
      isWhole = false;
      break;
    }
    const fitting = text.length > charsLeft ? `${cutText(text, charsLeft)} […]` : text;
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

import type { ContentBlock } from "../../core/agent-update.ts";
import { type JsonObject, stringAt } from "../../core/json.ts";
import { AGENT_CALL_MS_MAX, AGENT_RESTORE_MS_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { AGENT_METHODS } from "../../wire/acp.ts";
import { RPC_ERRORS } from "../../wire/rpc.ts";
import type { AgentOrder } from "../agent.ts";
import type { AgentConnection } from "../connection.ts";
import type { AgentProfile } from "../profile/profile.ts";
import { type AgentAbilities, readSettings } from "./capability.ts";
import { fitServers } from "./content.ts";
import { request } from "./request.ts";
import { seedOf } from "./seed.ts";
import type { Arrival } from "./session.ts";

interface Way {
  readonly connection: AgentConnection;
  readonly abilities: AgentAbilities;
  readonly profile: AgentProfile;
  readonly order: AgentOrder;
  /** The agent's words under this id are this session's from now on. */
  claim(agentSessionId: string, isReplaying: boolean): void;
  unclaim(agentSessionId: string): void;
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

/** Null if this way is closed and another may be tried; an agent that is gone is the end. */
async function restore(
  way: Way,
  method: string,
  agentSessionId: string,
  context: "resumed" | "loaded",
): Promise<Result<Arrival> | null> {
  const { skipped, ...params } = sessionParams(way);
  way.claim(agentSessionId, context === "loaded");
  const all = { ...params, sessionId: agentSessionId };
  const restored = await authenticated(way, method, all, AGENT_RESTORE_MS_MAX);
  if (restored.ok) {
    way.claim(agentSessionId, false);
    const settings = readSettings(restored.value);
    return ok({ agentSessionId, context, settings, skipped, preface: [] });
  }
  way.unclaim(agentSessionId);
  return restored.refusal.code === "agent_gone" ? restored : null;
}

async function begin(way: Way): Promise<Result<Arrival>> {
  const { order, abilities } = way;
  const { skipped, ...params } = sessionParams(way);
  const method = AGENT_METHODS.newSession;
  const made = await authenticated(way, method, params, AGENT_CALL_MS_MAX);
  if (!made.ok) return made;
  const agentSessionId = stringAt(made.value, "sessionId");
  if (agentSessionId === null)
    return fail("agent_call_failed", { method, reason: "it gave no id" });
  way.claim(agentSessionId, false);
  const seed = order.past === null ? null : await seedOf(order.past.messages());
  const persona = abilities.systemPrompt ? null : personaOf(order);
  const preface = [persona, seed].filter((block) => block !== null);
  const context = order.past === null ? "new" : "seeded";
  const settings = readSettings(made.value);
  return ok({ agentSessionId, context, settings, skipped, preface });
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
  limitMs: number,
): Promise<Result<JsonObject>> {
  const { connection, profile, abilities } = way;
  const first = await request(connection, method, params, limitMs);
  if (first.ok || first.refusal.details.rpcCode !== RPC_ERRORS.authRequired) return first;
  const methods = abilities.authMethods.join(", ") || "no way to do so";
  const wanted = fail("agent_auth_required", { profile: profile.name, methods });
  if (profile.auth === null) return wanted;
  const signIn = { methodId: profile.auth };
  const signedIn = await request(connection, AGENT_METHODS.authenticate, signIn, limitMs);
  if (!signedIn.ok) return wanted;
  return request(connection, method, params, limitMs);
}

import type { JsonObject } from "../../core/json.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { AgentExit } from "../../core/session/event.ts";
import { ACP_VERSION, AGENT_METHODS } from "../../wire/acp.ts";
import { RPC_ERRORS } from "../../wire/rpc.ts";
import { AgentConnection, type Peer } from "../connection.ts";
import { type FaultListener, FaultLog } from "../fault.ts";
import { AGENT_MARK_VARIABLE, environmentOf } from "../process/environment.ts";
import { AgentProcess, type AgentStart } from "../process/process.ts";
import type { AgentProfile } from "../profile/profile.ts";
import { readAbilities } from "./capability.ts";
import { AgentHost } from "./host.ts";
import { request } from "./request.ts";

/** What we can do for an agent. There is no page that a person could be sent to, so no `url`. */
const CLIENT_CAPABILITIES = {
  fs: { readTextFile: true, writeTextFile: true },
  terminal: true,
  elicitation: { form: {} },
};

/** Whoever has to know of what comes to light while an agent is started and used. */
export interface HostWatch {
  readonly fault: FaultListener;
  /** A value that must never reach a disk. If nobody can watch for it, no agent gets it. */
  secret(value: string): Result<void>;
}

/**
 * Starts an agent's process and introduces itself. Whatever is wrong with the agent comes to
 * light here, so this is where a person is told what it is, in the agent's own last words.
 */
export async function startHost(order: AgentStart, watch: HostWatch): Promise<Result<AgentHost>> {
  for (const secret of environmentOf(order.profile, order.env, "").secrets) {
    const watched = watch.secret(secret);
    if (!watched.ok) return watched;
  }
  const started = await AgentProcess.start(order);
  if (!started.ok) return started;
  const process = started.value;
  const { profile } = order;
  const faults = new FaultLog(watch.fault);
  let host: AgentHost | null = null;
  const peer: Peer = {
    notified: (method, params) => host?.peer.notified(method, params),
    requested: async (method, params, signal) =>
      host?.peer.requested(method, params, signal) ?? { error: TOO_EARLY },
  };
  const streams = { input: process.stdin, output: process.stdout };
  const connection = new AgentConnection(streams, peer, faults);
  const met = await introduce(connection, profile, process, faults);
  if (!met.ok) {
    await process.end();
    return met;
  }
  const abilities = readAbilities(met.value);
  const terminals = terminalsOf(order, process);
  host = new AgentHost({ profile, process, connection, abilities, terminals, faults });
  return ok(host);
}

/** An agent's commands get none of the secrets that the agent itself was given. */
function terminalsOf({ profile, env }: AgentStart, { marker }: AgentProcess) {
  const { uid, gid } = profile;
  const bare = environmentOf({ ...profile, env: {}, inherit: [] }, env, marker);
  return { environment: bare.env, marks: { [AGENT_MARK_VARIABLE]: marker }, uid, gid };
}

const TOO_EARLY = { code: RPC_ERRORS.invalidRequest, message: "initialize has no answer yet" };

async function introduce(
  connection: AgentConnection,
  profile: AgentProfile,
  process: AgentProcess,
  faults: FaultLog,
): Promise<Result<JsonObject>> {
  const params = {
    protocolVersion: ACP_VERSION,
    clientCapabilities: CLIENT_CAPABILITIES,
    clientInfo: { name: "fermata", title: "Fermata", version: "0.1.0" },
  };
  const limitMs = profile.limits.startMs;
  const met = await request(connection, AGENT_METHODS.initialize, params, limitMs);
  const { name } = profile;
  if (met.ok) {
    const version = Number(met.value.protocolVersion);
    if (version === ACP_VERSION) return met;
    return fail("agent_protocol_version", { profile: name, version, supported: ACP_VERSION });
  }
  const isGone = met.refusal.code === "agent_gone";
  if (!isGone && met.refusal.code !== "agent_call_timeout") return met;
  const exit = isGone ? describeExit(await process.end()) : "it is still running";
  const printed = faults.firstMalformedLine;
  const said = [printed, process.said].filter(Boolean).join("\n") || "nothing";
  if (printed !== null) return fail("agent_not_speaking", { profile: name, said });
  return isGone
    ? fail("agent_exited_early", { profile: name, exit, said })
    : fail("agent_start_timeout", { profile: name, limitMs, said });
}

function describeExit({ exitCode, signalCode }: AgentExit): string {
  return signalCode === null ? `exit code ${exitCode ?? "unknown"}` : `signal ${signalCode}`;
}

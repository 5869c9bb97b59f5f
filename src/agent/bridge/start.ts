import type { JsonObject } from "../../core/json.ts";
import { AGENT_NAME_CHARS_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { cutText } from "../../core/text.ts";
import { ACP_VERSION, AGENT_METHODS } from "../../wire/acp.ts";
import { RPC_ERRORS } from "../../wire/rpc.ts";
import { AgentConnection, type AgentMessageHandler } from "../connection.ts";
import { type FaultListener, FaultLog } from "../fault.ts";
import { environmentOf } from "../process/environment.ts";
import { AgentProcess, type AgentStart } from "../process/process.ts";
import type { AgentProfile } from "../profile/profile.ts";
import { OwnFolders } from "../workspace/location.ts";
import { readAbilities, clientCapabilities } from "./capability.ts";
import { describeExit, request } from "./request.ts";
import { AgentHost } from "./host.ts";
import { patientLimit } from "../call-limit.ts";
import { refusal } from "./agent-requests.ts";

/** A test compares its version with the package's. */
export const CLIENT_INFO = { name: "fermata", title: "Fermata", version: "0.1.0" };

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
export async function startHost(
  order: AgentStart,
  watch: HostWatch,
  signal: AbortSignal = NEVER,
): Promise<Result<AgentHost>> {
  for (const secret of environmentOf(order.profile, order.env, "").secrets) {
    const watched = watch.secret(secret);
    if (!watched.ok) return watched;
  }
  const started = await AgentProcess.start(order);
  if (!started.ok) return started;
  const process = started.value;
  // Nobody has told it anything yet, so there is nothing that it should be asked to end.
  const kill = () => void process.kill();
  signal.addEventListener("abort", kill, { once: true });
  if (signal.aborted) kill();
  const host = await meet(order, process, new FaultLog(watch.fault, process.redactor.readable));
  signal.removeEventListener("abort", kill);
  if (host.ok && !signal.aborted) return host;
  await process.end();
  return signal.aborted ? fail("agent_connect_aborted") : host;
}

const NEVER = new AbortController().signal;

async function meet(
  order: AgentStart,
  process: AgentProcess,
  faults: FaultLog,
): Promise<Result<AgentHost>> {
  const { profile } = order;
  let host: AgentHost | null = null;
  let isMirror = false;
  const peer: AgentMessageHandler = {
    notified: (method, params, chars) => host?.peer.notified(method, params, chars),
    requested: (method, params, asked) => {
      // Only a program that writes what it reads, as `cat` does, asks us for this.
      isMirror ||= method === AGENT_METHODS.initialize;
      return host?.peer.requested(method, params, asked) ?? refusal(TOO_EARLY);
    },
  };
  const streams = { input: process.stdin, output: process.stdout };
  const { tap = null } = order;
  const { redacted } = process.redactor;
  const connection = new AgentConnection(streams, peer, faults, (direction, line) => {
    if (tap?.isRead) tap.line(direction, redacted(line));
  });
  // Whoever takes nothing any more can be told nothing, not even to stop.
  void connection.inputClosed.then(() => process.end());
  const met = await introduce(connection, profile, process, faults);
  if (isMirror) return fail("agent_not_speaking", { profile: profile.name, said: MIRROR });
  if (!met.ok) return met;
  const abilities = readAbilities(met.value);
  const terminals = terminalsOf(order, process);
  host = new AgentHost({ profile, process, connection, abilities, terminals, faults });
  return ok(host);
}

/** An agent's commands get none of the secrets that the agent itself was given. */
function terminalsOf({ profile, env, own = OwnFolders.NONE }: AgentStart, process: AgentProcess) {
  const { marker } = process;
  const { uid, gid } = profile;
  const bare = environmentOf({ ...profile, env: {}, inherit: [] }, env, marker);
  return { environment: bare.env, marker, uid, gid, own };
}

const MIRROR = "our own words: it repeats what it is sent";

const TOO_EARLY = { code: RPC_ERRORS.invalidRequest, message: "initialize has no answer yet" };

async function introduce(
  connection: AgentConnection,
  profile: AgentProfile,
  process: AgentProcess,
  faults: FaultLog,
): Promise<Result<JsonObject>> {
  const params = {
    protocolVersion: ACP_VERSION,
    clientCapabilities: clientCapabilities(profile.withhold),
    clientInfo: CLIENT_INFO,
  };
  const { startMs } = profile.limits;
  const limit = patientLimit(startMs, startMs, process);
  const { redacted } = process.redactor;
  const exit = async () => describeExit(await process.end());
  const callee = { connection, redacted, exit };
  const met = await request(callee, AGENT_METHODS.initialize, params, limit);
  const { name } = profile;
  if (met.ok) return checkedVersion(met.value, name, redacted);
  const { code, details } = met.refusal;
  if (code !== "agent_gone" && code !== "agent_call_timeout") return met;
  const printed = faults.firstMalformedLine;
  const words = [printed, process.said, missingOf(process)].filter(Boolean);
  const said = words.join("\n") || "nothing";
  if (printed !== null) return fail("agent_not_speaking", { profile: name, said });
  return code === "agent_gone"
    ? fail("agent_exited_early", { profile: name, exit: details.exit ?? "", said })
    : fail("agent_start_timeout", { profile: name, limitMs: details.limitMs ?? startMs, said });
}

/** Programs that speak something else over the same kind of line have versions of other kinds. */
function checkedVersion(
  answer: JsonObject,
  profile: string,
  redacted: (text: string) => string,
): Result<JsonObject> {
  const { protocolVersion } = answer;
  const version = typeof protocolVersion === "string" ? Number(protocolVersion) : protocolVersion;
  if (version === ACP_VERSION) return ok(answer);
  if (typeof version === "number" && Number.isFinite(version)) {
    return fail("agent_protocol_version", { profile, version, supported: ACP_VERSION });
  }
  const shown = cutText(redacted(JSON.stringify(protocolVersion) ?? "none"), AGENT_NAME_CHARS_MAX);
  return fail("agent_not_speaking", { profile, said: `its protocol version is ${shown}` });
}

/** What it may have needed and was not there to be given, which often is the reason. */
function missingOf({ missing }: AgentProcess): string | null {
  if (missing.length === 0) return null;
  return `(The server has no ${missing.join(", ")}, which the profile refers to.)`;
}

import type { JsonObject } from "../../core/json.ts";
import { AGENT_NAME_CHARS_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { cutText } from "../../core/text.ts";
import { ACP_VERSION, AGENT_METHODS } from "../../wire/acp.ts";
import { RPC_ERRORS } from "../../wire/rpc.ts";
import { patientLimit } from "../call-limit.ts";
import { AgentConnection, type AgentMessageHandler } from "../connection.ts";
import { NO_CREDENTIALS } from "../credential/credentials.ts";
import { type FaultListener, FaultLog } from "../fault.ts";
import { environmentOf } from "../process/environment.ts";
import { AgentProcess, type ProcessOptions } from "../process/process.ts";
import { type AgentProfile, userOf } from "../profile/profile.ts";
import { OWN_FILES } from "../workspace/files.ts";
import { OwnFolders } from "../workspace/location.ts";
import { answered, errorAnswer } from "./agent-requests.ts";
import { clientCapabilities, readAbilities } from "./capability.ts";
import { AgentHost } from "./host.ts";
import { describeExit, request } from "./request.ts";

/** A test compares the version with the package's. */
export const CLIENT_INFO = { name: "fermata", title: "Fermata", version: "0.1.0" };

/** Receives what must be known outside while an agent starts and runs. */
export interface HostObserver {
  readonly fault: FaultListener;
  /** A value that must never reach a disk. If this refuses, the agent is not started. */
  secret(value: string): Result<void>;
  /** No process has this value any more that was given to `secret`. */
  secretGone(value: string): void;
}

/**
 * Starts an agent's process and initializes it. Most things that are wrong with an agent show
 * here, so the refusal has what the agent wrote to its error output.
 */
export async function startHost(
  options: ProcessOptions,
  observer: HostObserver,
  signal: AbortSignal = NEVER,
): Promise<Result<AgentHost>> {
  const started = await startGuarded(options, observer);
  if (!started.ok) return started;
  const process = started.value;
  // It has no work yet that it would have to end in order.
  const kill = () => void process.kill();
  signal.addEventListener("abort", kill, { once: true });
  if (signal.aborted) kill();
  const host = await initialize(
    options,
    process,
    new FaultLog(observer.fault, process.redactor.readable),
  );
  signal.removeEventListener("abort", kill);
  if (host.ok && !signal.aborted) return host;
  await process.end();
  return signal.aborted ? fail("agent_connect_aborted") : host;
}

const NEVER = new AbortController().signal;

/** Its secrets are guarded before the process has them, and until it is gone. */
async function startGuarded(
  options: ProcessOptions,
  observer: HostObserver,
): Promise<Result<AgentProcess>> {
  const { profile, env, credentials } = options;
  const guarded: string[] = [];
  const gone = () => {
    for (const secret of guarded) observer.secretGone(secret);
  };
  for (const secret of environmentOf(profile, env, "", credentials).secrets) {
    const watched = observer.secret(secret);
    if (!watched.ok) {
      gone();
      return watched;
    }
    guarded.push(secret);
  }
  const started = await AgentProcess.start(options);
  if (started.ok) void started.value.exited.then(gone);
  else gone();
  return started;
}

async function initialize(
  options: ProcessOptions,
  process: AgentProcess,
  faults: FaultLog,
): Promise<Result<AgentHost>> {
  const { profile, tap, files = OWN_FILES, roots = [] } = options;
  let host: AgentHost | null = null;
  let isMirror = false;
  const handler: AgentMessageHandler = {
    notified: (method, params, chars) => host?.handler.notified(method, params, chars),
    requested: (method, params, context) => {
      // Only a program that writes back what it reads, such as `cat`, calls this.
      isMirror ||= method === AGENT_METHODS.initialize;
      return host?.handler.requested(method, params, context) ?? answered(TOO_EARLY);
    },
  };
  const streams = { input: process.stdin, output: process.stdout };
  const { redacted } = process.redactor;
  const connection = new AgentConnection(streams, handler, faults, (direction, line) => {
    if (tap?.isRead) tap.line(direction, redacted(line));
  });
  // An agent without input cannot even be asked to stop.
  void connection.inputClosed.then(() => process.end());
  const answer = await callInitialize(connection, profile, process, faults);
  if (isMirror) return fail("agent_not_speaking", { profile: profile.name, said: MIRROR });
  if (!answer.ok) return answer;
  const abilities = readAbilities(answer.value);
  const terminals = terminalsOf(options, process);
  const hasOwnHome = (options.credentials ?? NO_CREDENTIALS).home !== null;
  const of = { profile, process, hasOwnHome };
  host = new AgentHost({ ...of, connection, abilities, terminals, files, faults, roots });
  return ok(host);
}

/** Commands of an agent get none of the secrets of its environment. */
function terminalsOf(
  { profile, env, own = OwnFolders.NONE, credentials = NO_CREDENTIALS }: ProcessOptions,
  process: AgentProcess,
) {
  const { marker } = process;
  const home = { ...NO_CREDENTIALS, home: credentials.home };
  const bare = environmentOf({ ...profile, env: {}, inherit: [] }, env, marker, home);
  return { environment: bare.env, marker, user: userOf(profile), own };
}

const SLOW_ADVICE = "--initialize-timeout-ms, or startMs in its profile, gives it longer";

const MIRROR = "our own words: it repeats what it is sent";

const TOO_EARLY = errorAnswer(RPC_ERRORS.invalidRequest, "initialize has no answer yet");

async function callInitialize(
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
  const answer = await request(callee, AGENT_METHODS.initialize, params, limit);
  const { name } = profile;
  if (answer.ok) return checkedVersion(answer.value, name, redacted);
  const { code, details } = answer.refusal;
  if (code !== "agent_gone" && code !== "agent_call_timeout") return answer;
  const printed = faults.firstMalformedLine;
  const words = [printed, process.errorOutput.excerpt(), missingOf(process)].filter(Boolean);
  const said = words.join("\n") || "nothing";
  if (printed !== null) return fail("agent_not_speaking", { profile: name, said });
  return code === "agent_gone"
    ? fail("agent_exited_early", { profile: name, exit: details.exit ?? "", said })
    : fail("agent_start_timeout", {
        ...{ profile: name, limitMs: details.limitMs ?? startMs, said },
        advice: SLOW_ADVICE,
      });
}

/** Programs with another protocol on JSON lines have versions of another form. */
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

/** The variables that the profile refers to and the server lacks: often the reason. */
function missingOf({ missing }: AgentProcess): string | null {
  if (missing.length === 0) return null;
  return `(The server has no ${missing.join(", ")}, which the profile refers to.)`;
}

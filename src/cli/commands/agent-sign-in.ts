import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  commandText,
  type OfferedSignIn,
  shownSignIn,
  type TerminalSignIn,
  terminalCommand,
} from "../../agent/bridge/sign-in.ts";
import { AGENT_MARK_VARIABLE, environmentOf } from "../../agent/process/environment.ts";
import { commandOf } from "../../agent/process/spawn.ts";
import { type AgentProfile, userOf } from "../../agent/profile/profile.ts";
import { sentenceOf } from "../../core/error.ts";
import type { Result } from "../../core/result.ts";
import { spawnAs } from "../../platform/spawn-as.ts";
import { messageOf } from "../home.ts";
import type { AgentsQuery } from "./agent-secrets.ts";
import { startedHost, trialSession } from "./agent-trial.ts";

/**
 * What a program needs to know of the operator's terminal: whether it is a remote one, and how a
 * browser is opened. Agents of a server get none of it.
 */
const OF_THE_TERMINAL = [
  ...["SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY", "NO_BROWSER"],
  ...["BROWSER", "DISPLAY", "WAYLAND_DISPLAY"],
];

/**
 * Signs in to an agent, with the environment, home and user that the server gives to it: so the
 * agent finds its log-in there later. A text says why it failed.
 */
export async function signIn(
  profile: AgentProfile,
  home: string,
  query: AgentsQuery,
): Promise<string | null> {
  const inherit = [...profile.inherit, ...OF_THE_TERMINAL];
  const started = await startedHost({ ...profile, inherit }, home, query);
  if (!started.ok) return sentenceOf(started.refusal);
  const { profile: whole, abilities } = started.value;
  await started.value.end();
  const chosen = chosenMethod(whole, abilities.authMethods, query.method);
  if (typeof chosen === "string") return chosen;
  const { id, terminal } = chosen;
  return terminal === null
    ? signInAtPage({ ...whole, auth: [{ method: id, ifSet: [] }] }, home, query)
    : runInTerminal(whole, terminal, query);
}

/** One that runs in a terminal, or that the profile tries without a key: it may show a page. */
function chosenMethod(
  profile: AgentProfile,
  offered: readonly OfferedSignIn[],
  wanted: string | null,
): OfferedSignIn | string {
  const keyless = profile.auth.filter(({ ifSet }) => ifSet.length === 0);
  const methods = offered.filter(({ id, terminal }) => {
    return terminal !== null || keyless.some(({ method }) => method === id);
  });
  const fitting = methods.filter(({ id }) => wanted === null || id === wanted);
  const [first, second] = fitting;
  if (first !== undefined && second === undefined) return first;
  const list = (all: readonly OfferedSignIn[]) => all.map(shownSignIn).join("; ");
  const others = list(offered) || "nothing";
  const why = `it offers no sign-in in a terminal or at a page.${hint(profile)}`;
  const none = `${why} It offers: ${others}`;
  const many = `choose one of these with --method ID: ${list(methods)}`;
  const reason = methods.length === 0 ? none : many;
  return failed(profile, reason);
}

/** Shows the page that the agent wants opened, and runs the agent until a person was there. */
async function signInAtPage(
  profile: AgentProfile,
  home: string,
  query: AgentsQuery,
): Promise<string | null> {
  const started = await startedHost(profile, home, query);
  if (!started.ok) return sentenceOf(started.refusal);
  const host = started.value;
  const waited = Promise.withResolvers<void>();
  const changed = () => {
    if (!host.awaitsSignIn) waited.resolve();
  };
  host.observe({ changed, gone: changed });
  const interrupted = () => waited.resolve();
  process.once("SIGINT", interrupted).once("SIGTERM", interrupted);
  try {
    const first = await trialSession(host, query.holder);
    const { url, said } = first.ok ? {} : first.refusal.details;
    if (url === undefined) return signedIn(first, profile, query);
    process.stdout.write(`${said}\nOpen ${url} and sign in; this command waits for it.\n`);
    await waited.promise;
    if (host.awaitsSignIn) return failed(profile, "the command was interrupted");
    return signedIn(await trialSession(host, query.holder), profile, query);
  } finally {
    process.off("SIGINT", interrupted).off("SIGTERM", interrupted);
    await host.end();
  }
}

function signedIn(
  made: Result<unknown>,
  profile: AgentProfile,
  { options }: AgentsQuery,
): string | null {
  if (!made.ok) return sentenceOf(made.refusal);
  process.stdout.write(`${signedInText(profile, options)}\n`);
  return null;
}

async function runInTerminal(
  profile: AgentProfile,
  terminal: TerminalSignIn,
  { credentials: found, holder, options }: AgentsQuery,
): Promise<string | null> {
  const credentials = await found.of(profile, holder);
  if (!credentials.ok) return sentenceOf(credentials.refusal);
  const { env: agentEnv } = environmentOf(profile, process.env, "", credentials.value);
  const { command, args } = terminalCommand(profile, terminal);
  const all = { ...agentEnv, ...terminal.env };
  const path = await commandOf({ ...profile, command }, all);
  if (!path.ok) {
    const isOwn = command === profile.command;
    return isOwn ? sentenceOf(path.refusal) : failed(profile, notFound(profile, command));
  }
  // It is no process of a server, which would end it when it starts.
  const { [AGENT_MARK_VARIABLE]: _, ...bare } = all;
  process.stderr.write(`fermata: running ${commandText(profile, terminal)}\n`);
  const wanted = { file: path.value, args, cwd: process.cwd(), env: bare };
  const program = spawnAs(userOf(profile), wanted);
  // Ctrl-C is for the program, which is in the foreground too.
  const ignore = () => {};
  process.on("SIGINT", ignore);
  try {
    const { file, cwd, env, identity } = program;
    const child = spawn(file, program.args, { cwd, env, ...identity, stdio: "inherit" });
    const [exitCode, signal] = await once(child, "exit");
    if (exitCode === 0) {
      process.stdout.write(`${signedInText(profile, options)}\n`);
      return null;
    }
    const how = signal === null ? `exit code ${exitCode}` : `signal ${signal}`;
    return failed(profile, `the command ended with ${how}`);
  } catch (thrown) {
    return failed(profile, messageOf(thrown));
  } finally {
    process.off("SIGINT", ignore);
  }
}

function signedInText({ name, commandLine }: AgentProfile, options: string): string {
  const which = commandLine === null ? name : JSON.stringify(commandLine);
  const check = `fermata agents ${which} ${options}`.trim();
  return `Signed in. To see whether a session can be made: ${check}`;
}

/** A fork may still name the command of what it was made from, as Kilo does. */
function notFound(profile: AgentProfile, command: string): string {
  return `it names the command "${command}" for that, which was not found.${hint(profile)}`;
}

function hint({ signIn: words }: AgentProfile): string {
  return words === null ? "" : ` ${words}.`;
}

function failed({ name }: AgentProfile, reason: string): string {
  return `Agent "${name}" is not signed in: ${reason}${reason.endsWith(".") ? "" : "."}`;
}

import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  commandText,
  type OfferedSignIn,
  shownSignIn,
  terminalCommand,
} from "../../agent/bridge/sign-in.ts";
import { AGENT_MARK_VARIABLE, environmentOf } from "../../agent/process/environment.ts";
import { commandOf } from "../../agent/process/spawn.ts";
import { type AgentProfile, userOf } from "../../agent/profile/profile.ts";
import { sentenceOf } from "../../core/error.ts";
import { spawnAs } from "../../platform/spawn-as.ts";
import { messageOf } from "../home.ts";
import type { AgentsQuery } from "./agent-secrets.ts";
import { startedHost } from "./agent-trial.ts";

/**
 * What a program needs to know of the operator's terminal: whether it is a remote one, and how a
 * browser is opened. Agents of a server get none of it.
 */
const OF_THE_TERMINAL = [
  ...["SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY", "NO_BROWSER"],
  ...["BROWSER", "DISPLAY", "WAYLAND_DISPLAY"],
];

/**
 * Runs a terminal method of the agent in the operator's own terminal, with the environment, home
 * and user that the server gives to the agent: so the agent finds its log-in there later.
 * A text says why it failed.
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
  const credentials = await query.credentials.of(whole, query.holder);
  if (!credentials.ok) return sentenceOf(credentials.refusal);
  const { env } = environmentOf(whole, process.env, "", credentials.value);
  return runInTerminal(whole, chosen, env);
}

type TerminalMethod = OfferedSignIn & { readonly terminal: object };

function chosenMethod(
  profile: AgentProfile,
  offered: readonly OfferedSignIn[],
  wanted: string | null,
): TerminalMethod | string {
  const methods = offered.filter((method): method is TerminalMethod => method.terminal !== null);
  const fitting = methods.filter(({ id }) => wanted === null || id === wanted);
  const [first, second] = fitting;
  if (first !== undefined && second === undefined) return first;
  const list = (all: readonly OfferedSignIn[]) => all.map(shownSignIn).join("; ");
  const hint = profile.signIn === null ? "" : ` ${profile.signIn}.`;
  const others = list(offered) || "nothing";
  const none = `it offers no sign-in in a terminal.${hint} It offers: ${others}`;
  const many = `choose one of these with --method ID: ${list(methods)}`;
  const reason = methods.length === 0 ? none : many;
  return failed(profile, reason);
}

async function runInTerminal(
  profile: AgentProfile,
  { terminal }: TerminalMethod,
  agentEnv: Readonly<Record<string, string>>,
): Promise<string | null> {
  const { command, args } = terminalCommand(profile, terminal);
  const all = { ...agentEnv, ...terminal.env };
  const path = await commandOf({ ...profile, command }, all);
  if (!path.ok) return sentenceOf(path.refusal);
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
      process.stdout.write(`Signed in. To see whether a session can be made: ${check(profile)}\n`);
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

function check({ name, commandLine }: AgentProfile): string {
  return `fermata agents ${commandLine === null ? name : JSON.stringify(commandLine)}`;
}

function failed({ name }: AgentProfile, reason: string): string {
  return `Agent "${name}" is not signed in: ${reason}.`;
}

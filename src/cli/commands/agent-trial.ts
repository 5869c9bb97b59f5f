import { join } from "node:path";
import type { AgentListener, AgentOffer } from "../../agent/agent.ts";
import type { AgentHost } from "../../agent/bridge/host.ts";
import { shownSignIn } from "../../agent/bridge/sign-in.ts";
import { startHost } from "../../agent/bridge/start.ts";
import type { CredentialHolder } from "../../agent/credential/secret-files.ts";
import { AgentMarks } from "../../agent/process/marks.ts";
import { withVariables } from "../../agent/profile/command-line.ts";
import { type AgentProfile, askingProfile } from "../../agent/profile/profile.ts";
import { type Refusal, sentenceOf } from "../../core/error.ts";
import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { CANCELLED } from "../../core/policy/ask.ts";
import { askingView } from "../../core/policy/asking.ts";
import { DONE, ok, type Result } from "../../core/result.ts";
import { ownAccount } from "../serve/agent-user.ts";
import { type AgentsQuery, secretLines } from "./agent-secrets.ts";

/**
 * Starts an agent, makes a session with it, and prints what it offers and has. A text says why a
 * session cannot be made; null if it can.
 */
export async function tryOut(
  profile: AgentProfile,
  home: string,
  query: AgentsQuery,
): Promise<string | null> {
  const startedMs = performance.now();
  const started = await startedHost(askingProfile(profile), home, query);
  const secrets = await secretLines(profile, query);
  if (!started.ok) {
    if (secrets.length > 0) process.stdout.write(`${secretsText(secrets)}\n`);
    return sentenceOf(started.refusal);
  }
  const tookMs = Math.round(performance.now() - startedMs);
  const made = await trialSession(started.value, query.holder);
  await started.value.end();
  const { name, version } = started.value.abilities;
  process.stdout.write(
    `${[
      `${name ?? profile.title}${version === null ? "" : ` ${version}`} answered in ${tookMs} ms.`,
      ...abilityLines(started.value),
      ...(profile.signIn === null ? [] : [`  to sign in:      ${profile.signIn}`]),
      `  a session:       ${made.ok ? "can be made" : "cannot be made, see below"}`,
      secretsText(secrets),
      `  asking:          ${askingSentence(profile)}`,
      `  MCP tools:       ${MCP_SENTENCES[profile.mcp]}`,
      ...(profile.home === null ? [] : [`  its home:        set by ${profile.home}`]),
      ...(profile.withhold.length === 0
        ? []
        : [`  withheld:        ${profile.withhold.join(", ")}`]),
    ].join("\n")}\n`,
  );
  return made.ok ? null : failureText(made.refusal, profile);
}

/** This agent has ended, and with it what it waited for at a page. */
function failureText(refusal: Refusal, { name }: AgentProfile): string {
  if (refusal.details.url === undefined) return sentenceOf(refusal);
  return (
    `Agent "${name}" wants a person to sign in at a page, and has to go on running meanwhile. ` +
    "Run this command with --sign-in, or make a session with it at a server: either shows the page."
  );
}

/** Starts the agent as a server with the same options would. */
export async function startedHost(
  profile: AgentProfile,
  home: string,
  { credentials, holder, account: shared }: Pick<AgentsQuery, "credentials" | "holder" | "account">,
): Promise<Result<AgentHost>> {
  const account = await ownAccount(profile, shared !== null);
  if (!account.ok) return account;
  const whole = { ...profile, account: account.value ?? shared };
  const found = await credentials.of(whole, holder);
  if (!found.ok) return found;
  const marks = new AgentMarks(join(home, "running-agents"));
  const cwd = process.cwd();
  const start = { profile: whole, cwd, marks, env: process.env, credentials: found.value };
  return startHost(start, { fault: () => {}, secret: () => DONE, secretGone: () => {} });
}

/**
 * Makes a session and closes it: most agents look for their key only then, and say which models and
 * modes they have.
 */
export async function trialSession(
  host: AgentHost,
  holder: CredentialHolder,
): Promise<Result<AgentOffer>> {
  const cwd = process.cwd();
  const { name: profile } = host.profile;
  const whose = { ...holder, profile, asks: true, workspace: cwd, cwd };
  const request = { ...whose, mcpServers: [], systemPrompt: null, past: null };
  const made = await host.connect(request, NOBODY, new AbortController().signal);
  if (!made.ok) return made;
  const { offer } = made.value;
  await made.value.close();
  return ok(offer);
}

/** A session without a person: what the agent asks for is not given. */
const NOBODY: AgentListener = {
  connected: () => {},
  status: () => {},
  update: () => undefined,
  usage: () => {},
  usageSuspect: () => {},
  ask: async () => ({ outcome: CANCELLED }),
  access: async () => ({ allowed: false, reason: "this session is only for a look at the agent" }),
  takeMessages: async () => [],
  hasQueuedPrompt: () => false,
  exit: () => {},
  audit: async () => {},
};

function abilityLines({ abilities }: AgentHost): readonly string[] {
  const { load, resume, close, list, fork, systemPrompt, authMethods } = abilities;
  const offers = { load, resume, close, list, fork, "system prompt": systemPrompt };
  const can = Object.entries(offers).filter(([, does]) => does);
  const cannot = Object.entries(offers).filter(([, does]) => !does);
  const ways = authMethods.map((method) => {
    return `${shownSignIn(method)}${method.terminal === null ? "" : " [--sign-in]"}`;
  });
  return [
    `  offers:          ${namesOf(can)}`,
    `  does not offer:  ${namesOf(cannot)}`,
    `  sign-in methods: ${ways.join(`\n${INDENT}`) || "none"}`,
  ];
}

const INDENT = " ".repeat(19);

function secretsText(lines: readonly string[]): string {
  const all = lines.length === 0 ? ["it needs none"] : lines;
  return `  secrets:         ${all.join(`\n${INDENT}`)}`;
}

/** The sentence that a new session shows. */
function askingSentence({ ask }: AgentProfile): string {
  const known = { chosen: null, observed: null, offered: null, options: null };
  return askingView(ask, "ask", known).sentence;
}

const MCP_SENTENCES: Readonly<Record<AgentProfile["mcp"], string>> = {
  offered: "its model sees those of the session's servers",
  deferred: "its model sees those of the session's servers once it searches for them",
  withheld: "its model does not see those of the session's servers",
  unknown: "not known",
};

function namesOf(entries: readonly (readonly [string, boolean])[]): string {
  return entries.map(([name]) => name).join(", ") || "nothing";
}

export interface OfferedModels {
  /** Without any, null stands for the one that the agent does not name. */
  readonly models: readonly (string | null)[];
  /** Why the agent could not be asked; null if it could. */
  readonly failure: string | null;
}

/** Starts an agent, makes a session with it, and ends it: which models does it have? */
export async function offeredModels(
  profile: AgentProfile,
  home: string,
  query: AgentsQuery,
): Promise<OfferedModels> {
  const offer = await offerOf(profile, home, query);
  if (!offer.ok) return { models: [null], failure: sentenceOf(offer.refusal) };
  const models = modelsIn(offer.value);
  return { models: models.length === 0 ? [null] : models, failure: null };
}

async function offerOf(
  profile: AgentProfile,
  home: string,
  query: AgentsQuery,
): Promise<Result<AgentOffer>> {
  const whole = withVariables(profile, query.inherit);
  if (!whole.ok) return whole;
  const started = await startedHost(askingProfile(whole.value), home, query);
  if (!started.ok) return started;
  try {
    return await trialSession(started.value, query.holder);
  } finally {
    await started.value.end();
  }
}

/** The current one first, and then those that can be chosen. */
function modelsIn({ model, models, configOptions }: AgentOffer): readonly string[] {
  const option = configOptions.find(({ category }) => category === "model");
  const choices = objectsIn(option?.options).flatMap((one) => {
    return Array.isArray(one.options) ? objectsIn(one.options) : [one];
  });
  const options = choices.flatMap((one) => stringAt(one, "value") ?? []);
  const listed = objectsIn(models?.availableModels).flatMap(
    (one) => stringAt(one, "modelId") ?? [],
  );
  return [...new Set([...(model ? [model] : []), ...options, ...listed])];
}

function objectsIn(list: unknown): readonly JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

import { type Refusal, refusal } from "../../core/error.ts";
import { isObject, type JsonObject, objectAt, stringAt } from "../../core/json.ts";
import {
  AGENT_ARGS_MAX,
  AGENT_NAME_CHARS_MAX,
  AGENT_PROFILE_TEXT_CHARS_MAX,
  AGENT_SIGN_INS_MAX,
  AGENT_VARIABLES_MAX,
  SIGN_IN_ADVICE_CHARS_MAX,
} from "../../core/limits.ts";
import { cutText } from "../../core/text.ts";
import { type AgentProfile, quoted } from "../profile/profile.ts";

/** A method to sign in, as an agent offers it in its answer to `initialize`. */
export interface OfferedSignIn {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  /** The variables that it needs, where the agent names them. */
  readonly variables: readonly string[];
  /** Where a person gets what it needs. */
  readonly link: string | null;
  /** What a person runs in a terminal for it; null if it needs none. */
  readonly terminal: TerminalSignIn | null;
  /** Whether `authenticate` takes it: ACP says that it takes none that is for a terminal. */
  readonly isForAuthenticate: boolean;
}

/** A command for a terminal. */
export interface TerminalSignIn {
  /** Null for the agent's own command: then `args` follow those of its profile. */
  readonly command: string | null;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** What was tried, and what came of it; null if the agent took it. */
export interface SignInAttempt {
  readonly method: string;
  readonly failure: string | null;
}

/** Whose agent asks for a sign-in, and what is known of it. */
export interface SignInNeed {
  readonly profile: AgentProfile;
  readonly offered: readonly OfferedSignIn[];
  /** The names of the variables that the agent has. */
  readonly variables: ReadonlySet<string>;
  /** Options of `fermata agents` for the home of the session's user; empty if it has none. */
  readonly holderOptions: string;
  /** Who signs in does so for all who share the home: then only the operator may (P8). */
  readonly maySignIn: boolean;
  readonly redacted: (text: string) => string;
}

/** The methods of an agent's answer, as far as they can be read; at most so many. */
export function readSignIns(methods: unknown): readonly OfferedSignIn[] {
  if (!Array.isArray(methods)) return [];
  return methods
    .slice(0, AGENT_SIGN_INS_MAX)
    .filter(isObject)
    .flatMap((method) => {
      const id = stringAt(method, "id");
      return id === null || id.length > AGENT_NAME_CHARS_MAX ? [] : [signInOf(id, method)];
    });
}

function signInOf(id: string, method: JsonObject): OfferedSignIn {
  const description = plain(stringAt(method, "description") ?? "");
  return {
    id,
    name: plain(stringAt(method, "name") ?? "") || plain(id),
    description: description === "" ? null : description,
    variables: method.type === "env_var" ? namesIn(method.vars) : [],
    link: webLink(stringAt(method, "link")),
    terminal: terminalOf(method),
    isForAuthenticate: method.type !== "terminal",
  };
}

/** ACP's own form; else the older one of editors, which names the whole command. */
function terminalOf(method: JsonObject): TerminalSignIn | null {
  if (method.type === "terminal") {
    return { command: null, args: textsIn(method.args), env: variablesIn(method.env) };
  }
  const older = objectAt(objectAt(method, "_meta") ?? {}, "terminal-auth");
  const command = older && stringAt(older, "command");
  if (older === null || command === null || isOverlong(command)) return null;
  return { command, args: textsIn(older.args), env: variablesIn(older.env) };
}

function textsIn(list: unknown): readonly string[] {
  const texts = Array.isArray(list) ? list.slice(0, AGENT_ARGS_MAX) : [];
  return texts.filter((text) => typeof text === "string" && !isOverlong(text));
}

/** Some agents write an object, and some a list of names with values. */
function variablesIn(env: unknown): Readonly<Record<string, string>> {
  const list = Array.isArray(env) ? env.filter(isObject) : [];
  const named = list.map(({ name, value }) => [name, value] as const);
  const entries = isObject(env) ? Object.entries(env) : named;
  return Object.fromEntries(
    entries.slice(0, AGENT_VARIABLES_MAX).flatMap(([name, value]) => {
      const isFit = typeof name === "string" && VARIABLE.test(name) && typeof value === "string";
      return isFit && !isOverlong(value) ? [[name, value] as const] : [];
    }),
  );
}

function namesIn(vars: unknown): readonly string[] {
  const list = Array.isArray(vars) ? vars.slice(0, AGENT_VARIABLES_MAX).filter(isObject) : [];
  const needed = list.filter(({ optional }) => optional !== true);
  return needed.map(({ name }) => String(name)).filter((name) => VARIABLE.test(name));
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/** Null for what is no address of the web: people are told to open it. */
function webLink(text: string | null): string | null {
  if (text === null || isOverlong(text) || !URL.canParse(text)) return null;
  const { protocol, href } = new URL(text);
  return protocol === "https:" || protocol === "http:" ? href : null;
}

function isOverlong(text: string): boolean {
  return text.length > AGENT_PROFILE_TEXT_CHARS_MAX || /\p{Cc}/u.test(text);
}

/** On one line, without what a terminal would take for a command. */
function plain(text: string): string {
  return cutText(oneLine(text), AGENT_NAME_CHARS_MAX);
}

export function oneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, " ").trim();
}

/**
 * The methods to try, in order: those of the profile that have a variable set, and then those of
 * the agent that have all of theirs. If the agent offers none of the profile's, the first is tried.
 */
export function usableMethods({ profile, offered, variables }: SignInNeed): readonly string[] {
  const isSet = (variable: string) => variables.has(variable);
  const usable = profile.auth
    .filter(({ ifSet }) => ifSet.length === 0 || ifSet.some(isSet))
    .map(({ method }) => method);
  const open = offered.filter(({ isForAuthenticate }) => isForAuthenticate);
  const named = usable.filter((method) => open.some(({ id }) => id === method));
  const byVariable = open
    .filter(({ variables: needed }) => needed.length > 0 && needed.every(isSet))
    .map(({ id }) => id);
  const isTerminal = (method: string) => offered.some(({ id }) => id === method);
  const methods = [...new Set([...named, ...byVariable])];
  return methods.length > 0 ? methods : usable.filter((method) => !isTerminal(method)).slice(0, 1);
}

/** Refuses what the agent does not do without a sign-in: its own words, and what to do next. */
export function signInRequired(
  context: SignInNeed,
  said: string,
  attempts: readonly SignInAttempt[] = [],
): Refusal {
  const { profile, offered, redacted } = context;
  const advice = [
    ...attempts.map(attemptText),
    ...(attempts.length === 0 ? needs(context) : []),
    ...(profile.signIn === null ? [] : [sentence(profile.signIn)]),
    ...offer(offered),
    ...inTerminal(context),
  ];
  const all = advice.length === 0 ? [NO_ADVICE] : advice;
  return refusal("agent_auth_required", {
    profile: profile.name,
    said: sentence(plain(said) || "nothing"),
    advice: cutText(redacted(all.join(" ")), SIGN_IN_ADVICE_CHARS_MAX),
    methods: offered.map(({ id }) => id).join(", ") || "none",
    signIns: forPrograms(context),
  });
}

const NO_ADVICE =
  "It offers no way to do so: sign in with the agent's own program, or set its key for the server.";

function attemptText({ method, failure }: SignInAttempt): string {
  if (failure === null) return `It took "${method}", and asks all the same.`;
  return `Signing in by "${method}" failed: ${sentence(plain(failure))}`;
}

/** Which variables are not set, of the methods that the agent offers, unless `signIn` says it. */
function needs({ profile, offered, variables }: SignInNeed): readonly string[] {
  const offers = profile.auth.filter(({ method }) => offered.some(({ id }) => id === method));
  const named = (offers.length > 0 ? offers : profile.auth)
    .filter(({ ifSet }) => ifSet.some((name) => !profile.signIn?.includes(name)))
    .map(({ method, ifSet }) => `"${method}" needs ${ifSet.join(" or ")}`);
  const others = offered
    .filter(({ id }) => !profile.auth.some(({ method }) => method === id))
    .flatMap(({ id, variables: all }) => {
      const missing = all.filter((name) => !variables.has(name));
      const unlisted = missing.filter((name) => !profile.inherit.includes(name));
      const list = unlisted.map((name) => `--agent-env ${name}`).join(" ");
      const how = list === "" ? "" : ` (passed on by ${list}, or "inherit" of its profile)`;
      return missing.length === 0 ? [] : [`"${id}" needs ${missing.join(" and ")}${how}`];
    });
  const all = [...named, ...others];
  return all.length === 0 ? [] : [`Not set for the server: ${all.join(", ")}.`];
}

function offer(offered: readonly OfferedSignIn[]): readonly string[] {
  if (offered.length === 0) return [];
  return [`It offers: ${offered.map(shownSignIn).join("; ")}.`];
}

/** For people: `ChatGPT (chat-gpt)`. */
export function shownSignIn({ id, name, description, link }: OfferedSignIn): string {
  const words = description === null || description === name ? "" : `, ${description}`;
  const where = link === null ? "" : `, see ${link}`;
  return `${name}${plain(id) === name ? "" : ` (${plain(id)})`}${words}${where}`.replace(/\.$/, "");
}

function inTerminal({ profile, offered, holderOptions }: SignInNeed): readonly string[] {
  if (!offered.some(({ terminal }) => terminal !== null)) return [];
  const which = profile.commandLine === null ? profile.name : quoted(profile.commandLine);
  const command = `fermata agents ${which} --sign-in${holderOptions}`;
  const where = holderOptions === "" ? "" : ", with the --agent-homes of the server";
  return [`On the server's machine${where}, this signs in: ${command}`];
}

/** The same by id; clients with a terminal of their own show the command. */
function forPrograms({ profile, offered, redacted }: SignInNeed): JsonObject {
  const entries = offered.map(({ id, name, description, variables, link, terminal }) => {
    const command = terminal === null ? null : commandText(profile, terminal);
    const facts = { name, description, link, command: command && redacted(command) };
    const known = Object.entries(facts).filter(([, value]) => value !== null);
    const vars = variables.length === 0 ? {} : { variables };
    return [id, { ...Object.fromEntries(known), ...vars }] as const;
  });
  return Object.fromEntries(entries);
}

/** The command of a terminal method, as it is typed into a shell. */
export function commandText(profile: AgentProfile, terminal: TerminalSignIn): string {
  const { command, args } = terminalCommand(profile, terminal);
  return [command, ...args].map(quoted).join(" ");
}

export function terminalCommand(profile: AgentProfile, { command, args }: TerminalSignIn) {
  if (command !== null) return { command, args };
  return { command: profile.command, args: [...profile.args, ...args] };
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

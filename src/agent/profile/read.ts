import { isAbsolute } from "node:path";
import { isObject, type JsonObject } from "../../core/json.ts";
import * as limits from "../../core/limits.ts";
import { AGENT_PROFILE_TEXT_CHARS_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { cutText } from "../../core/text.ts";
import { AGENT_MARK_VARIABLE } from "../process/environment.ts";
import {
  type AgentLimits,
  type AgentProfile,
  type AskSetup,
  askSetup,
  CLIENT_ABILITIES,
  type ClientAbility,
  DEFAULT_LIMITS,
  type EnvironmentValue,
  MCP_USES,
  NOT_KNOWN_TO_ASK,
  namesSecret,
  profileOf,
  RESUME_PREFERENCES,
  type SignInMethod,
  USAGE_SCOPES,
} from "./profile.ts";

/**
 * Reads the profiles of a configuration, `{ name: profile }`. It is strict, because a misspelled
 * setting without effect would be found only when it is needed.
 */
export function readProfiles(config: unknown): Result<ReadonlyMap<string, AgentProfile>> {
  if (!isObject(config)) return invalid("*", "agents", "it must be an object");
  const entries = Object.entries(config);
  if (entries.length > limits.AGENT_PROFILES_MAX) {
    return invalid("*", "agents", `at most ${limits.AGENT_PROFILES_MAX} are allowed`);
  }
  const profiles = new Map<string, AgentProfile>();
  for (const [name, value] of entries) {
    const read = readProfile(name, value);
    if (!read.ok) return read;
    profiles.set(name, read.value);
  }
  return ok(profiles);
}

function readProfile(name: string, value: unknown): Result<AgentProfile> {
  if (!PROFILE_NAME.test(name)) {
    return invalid(shown(name), "name", `it must match ${PROFILE_NAME.source}`);
  }
  if (!isObject(value)) return invalid(name, "profile", "it must be an object");
  const section = new Section(value, "", PROFILE_KEYS);
  const profile = profileFrom(name, section);
  const { fault } = section;
  return fault === null ? ok(profile) : invalid(name, fault.path, fault.reason);
}

const PROFILE_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const PROFILE_KEYS = [
  "title",
  "command",
  "args",
  "env",
  "inherit",
  "cwd",
  "uid",
  "gid",
  "limits",
  "auth",
  "ask",
  "withhold",
  "resume",
  "usage",
  "mcp",
  "home",
  "install",
  "signIn",
];
const ASK_KEYS = ["env", "args", "mode", "options", "unasked"];
const LIMIT_KEYS = [
  "startMs",
  "callMs",
  "restoreMs",
  "sessionsPerProcess",
  "memoryBytes",
  "idleMs",
];
const ID_MAX = 2 ** 32 - 2; // The system uses the last one for "no user".
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

export function invalid(profile: string, path: string, reason: string): Result<never> {
  return fail("invalid_agent_profile", { profile, path, reason });
}

/** Uses the default where something is wrong; the section has the fault. */
function profileFrom(name: string, section: Section): AgentProfile {
  const command = section.text("command");
  if (command === null) section.addFault("command", "it is missing");
  else if (command.includes("/") && !isAbsolute(command)) {
    section.addFault("command", "it must be a name without a slash, or an absolute path");
  }
  const cwd = section.text("cwd");
  if (cwd !== null && !isAbsolute(cwd)) section.addFault("cwd", "it must be an absolute path");
  return profileOf({
    name,
    title: section.text("title") ?? name,
    command: command ?? "",
    args: section.list("args", limits.AGENT_ARGS_MAX, textFault),
    env: environmentFrom(section),
    inherit: section.list("inherit", limits.AGENT_VARIABLES_MAX, variableFault),
    cwd,
    uid: section.whole("uid", 0, ID_MAX),
    gid: section.whole("gid", 0, ID_MAX),
    limits: limitsFrom(section),
    auth: authFrom(section),
    ask: askFrom(section),
    withhold: abilitiesFrom(section),
    resume: oneOf(section, "resume", RESUME_PREFERENCES) ?? "auto",
    usage: oneOf(section, "usage", USAGE_SCOPES) ?? "turn",
    mcp: oneOf(section, "mcp", MCP_USES) ?? "unknown",
    home: homeFrom(section),
    install: section.text("install"),
    signIn: section.text("signIn"),
  });
}

/** One method that is always usable, or several with conditions. */
function authFrom(profile: Section): readonly SignInMethod[] {
  if (profile.hasText("auth")) {
    const method = profile.text("auth");
    return method === null ? [] : [{ method, ifSet: [] }];
  }
  return profile.sections("auth", limits.AGENT_SIGN_INS_MAX, ["method", "ifSet"]).map((section) => {
    const method = section.text("method");
    if (method === null) section.addFault("method", "it is missing");
    const ifSet = section.list("ifSet", limits.AGENT_VARIABLES_MAX, variableFault);
    profile.adopt(section);
    return { method: method ?? "", ifSet };
  });
}

function askFrom(profile: Section): AskSetup {
  if (profile.hasText("ask")) {
    const isDefault = profile.text("ask") === "default";
    if (!isDefault) profile.addFault("ask", 'it must be "default", or an object');
    return isDefault ? askSetup() : NOT_KNOWN_TO_ASK;
  }
  const section = profile.section("ask", ASK_KEYS);
  if (section === null) return NOT_KNOWN_TO_ASK;
  const setup = askSetup({
    env: environmentFrom(section),
    args: section.list("args", limits.AGENT_ARGS_MAX, textFault),
    mode: section.text("mode"),
    options: optionsFrom(section),
    unasked: section.text("unasked"),
  });
  profile.adopt(section);
  return setup;
}

function optionsFrom(ask: Section): AskSetup["options"] {
  const section = ask.section("options", null);
  if (section === null) return {};
  const ids = section.keys();
  if (ids.length > limits.AGENT_VARIABLES_MAX) {
    ask.addFault("options", `at most ${limits.AGENT_VARIABLES_MAX} are allowed`);
    return {};
  }
  const read = ids.map((id) => [id, section.flag(id) ?? section.text(id) ?? ""] as const);
  ask.adopt(section);
  return Object.fromEntries(read);
}

function abilitiesFrom(section: Section): readonly ClientAbility[] {
  const words: readonly string[] = CLIENT_ABILITIES;
  const fault = (value: unknown) =>
    words.includes(String(value)) ? null : `it must be one of ${words.join(", ")}`;
  const said = section.list("withhold", words.length, fault);
  return CLIENT_ABILITIES.filter((ability) => said.includes(ability));
}

function homeFrom(section: Section): string | null {
  const home = section.text("home");
  const fault = home === null ? null : variableFault(home);
  if (fault !== null) section.addFault("home", fault);
  return home;
}

function limitsFrom(profile: Section): AgentLimits {
  const section = profile.section("limits", LIMIT_KEYS);
  if (section === null) return DEFAULT_LIMITS;
  const usual = DEFAULT_LIMITS;
  const msMax = limits.AGENT_PROFILE_MS_MAX;
  const sessionsMax = limits.AGENT_SESSIONS_PER_PROCESS_MAX;
  const read: AgentLimits = {
    startMs: section.whole("startMs", 1, msMax) ?? usual.startMs,
    callMs: section.whole("callMs", 1, msMax) ?? usual.callMs,
    restoreMs: section.whole("restoreMs", 1, msMax) ?? usual.restoreMs,
    sessionsPerProcess:
      section.whole("sessionsPerProcess", 1, sessionsMax) ?? usual.sessionsPerProcess,
    memoryBytes: section.whole("memoryBytes", 1, Number.MAX_SAFE_INTEGER) ?? usual.memoryBytes,
    idleMs: section.whole("idleMs", 0, msMax) ?? usual.idleMs,
  };
  profile.adopt(section);
  return read;
}

/** Null where it is missing, or none of these words. */
function oneOf<Word extends string>(
  section: Section,
  key: string,
  words: readonly Word[],
): Word | null {
  const said = section.text(key);
  const known = words.find((word) => word === said) ?? null;
  if (said !== null && known === null) {
    section.addFault(key, `it must be one of ${words.join(", ")}`);
  }
  return known;
}

function environmentFrom(profile: Section): AgentProfile["env"] {
  const section = profile.section("env", null);
  if (section === null) return {};
  const names = section.keys();
  if (names.length > limits.AGENT_VARIABLES_MAX) {
    profile.addFault("env", `at most ${limits.AGENT_VARIABLES_MAX} are allowed`);
    return {};
  }
  const read = names.map((name) => [name, variableFrom(section, name)] as const);
  profile.adopt(section);
  return Object.fromEntries(read);
}

function variableFrom(section: Section, name: string): EnvironmentValue {
  const nameFault = variableFault(name);
  if (nameFault !== null) section.addFault(name, nameFault);
  if (!section.hasText(name)) {
    const reference = section.section(name, ["from"]);
    const from = reference?.text("from") ?? null;
    if (reference !== null && from === null) reference.addFault("from", "it is missing");
    const fromFault = from === null ? null : variableFault(from);
    if (fromFault !== null) reference?.addFault("from", fromFault);
    if (reference !== null) section.adopt(reference);
    return { from: from ?? "" };
  }
  const value = section.text(name, { mayBeEmpty: true }) ?? "";
  if (value !== "" && namesSecret(name)) {
    section.addFault(name, `a secret is not written down here; say {"from": "${name}"} instead`);
  }
  return value;
}

function variableFault(name: unknown): string | null {
  if (typeof name !== "string" || !VARIABLE.test(name)) return "it is not a variable's name";
  return name === AGENT_MARK_VARIABLE ? "this variable is Fermata's own" : null;
}

interface ProfileFault {
  readonly path: string;
  readonly reason: string;
}

/** Reads one object of a configuration, and keeps the first fault. */
class Section {
  fault: ProfileFault | null = null;
  readonly #object: JsonObject;
  readonly #path: string;

  /** With null for the keys, any are allowed. */
  constructor(object: JsonObject, path: string, allowed: readonly string[] | null) {
    this.#object = object;
    this.#path = path;
    const unknown = this.keys().find((key) => allowed !== null && !allowed.includes(key));
    if (unknown !== undefined) this.addFault(unknown, "there is no such setting");
  }

  keys(): readonly string[] {
    return Object.keys(this.#object);
  }

  hasText(key: string): boolean {
    return typeof this.#at(key) === "string";
  }

  /** Null where it is missing or wrong. */
  text(key: string, { mayBeEmpty = false } = {}): string | null {
    const value = this.#at(key);
    if (value === undefined) return null;
    const fault = value === "" && !mayBeEmpty ? "it is empty" : textFault(value);
    if (fault !== null) this.addFault(key, fault);
    return fault === null && typeof value === "string" ? value : null;
  }

  /** Null where it is missing, or no boolean. */
  flag(key: string): boolean | null {
    const value = this.#at(key);
    return typeof value === "boolean" ? value : null;
  }

  whole(key: string, least: number, most: number): number | null {
    const value = this.#at(key);
    if (value === undefined) return null;
    const isWhole = typeof value === "number" && Number.isSafeInteger(value);
    if (isWhole && value >= least && value <= most) return value;
    this.addFault(key, `it must be a whole number from ${least} to ${most}`);
    return null;
  }

  list(key: string, most: number, faultOf: (value: unknown) => string | null): readonly string[] {
    const value = this.#at(key);
    if (value === undefined) return [];
    if (!Array.isArray(value) || value.length > most) {
      this.addFault(key, `it must be a list of at most ${most} texts`);
      return [];
    }
    const texts: string[] = [];
    const items: readonly unknown[] = value;
    for (const [index, item] of items.entries()) {
      const fault = faultOf(item);
      if (fault !== null) this.addFault(`${key}[${index}]`, fault);
      else if (typeof item === "string") texts.push(item);
    }
    return texts;
  }

  section(key: string, allowed: readonly string[] | null): Section | null {
    const value = this.#at(key);
    if (value === undefined) return null;
    if (isObject(value)) return new Section(value, this.#pathTo(key), allowed);
    this.addFault(key, "it must be an object");
    return null;
  }

  sections(key: string, most: number, allowed: readonly string[]): readonly Section[] {
    const value = this.#at(key);
    if (value === undefined) return [];
    if (!Array.isArray(value) || value.length > most || !value.every(isObject)) {
      this.addFault(key, `it must be a text, or a list of at most ${most} objects`);
      return [];
    }
    const path = this.#pathTo(key);
    return value.map((item, index) => new Section(item, `${path}[${index}]`, allowed));
  }

  /** Takes over the fault of a part. */
  adopt({ fault }: Section) {
    this.fault ??= fault;
  }

  addFault(key: string, reason: string) {
    this.fault ??= { path: this.#pathTo(key), reason };
  }

  #at(key: string): unknown {
    return Object.hasOwn(this.#object, key) ? this.#object[key] : undefined;
  }

  #pathTo(key: string): string {
    return this.#path === "" ? shown(key) : `${this.#path}.${shown(key)}`;
  }
}

/** What is wrong with a text for the system; null if nothing is. */
export function textFault(value: unknown): string | null {
  if (typeof value !== "string") return "it must be a text";
  if (value.length > AGENT_PROFILE_TEXT_CHARS_MAX) {
    return `it has more than ${AGENT_PROFILE_TEXT_CHARS_MAX} characters`;
  }
  if (/\p{Cc}/u.test(value)) return "it has control characters";
  return value.isWellFormed() ? null : "it has half a character";
}

/** A name of the configuration, made safe for a message. */
export function shown(name: string): string {
  return cutText(name, SHOWN_CHARS_MAX).replace(/\p{Cc}/gu, "?");
}

const SHOWN_CHARS_MAX = 64;

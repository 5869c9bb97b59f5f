import { isAbsolute } from "node:path";
import { z } from "zod";
import { isObject } from "../../core/json.ts";
import * as limits from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import {
  type AgentProfile,
  askSetup,
  CLIENT_ABILITIES,
  DEFAULT_LIMITS,
  FILE_WRITERS,
  MCP_USES,
  NOT_KNOWN_TO_ASK,
  namesSecret,
  profileOf,
  RESUME_PREFERENCES,
  USAGE_SCOPES,
} from "./profile.ts";
import { invalid, PROFILE_NAME, shown, textFault, variableFault } from "./spelling.ts";

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
  const read = PROFILE.safeParse(value);
  if (read.success) {
    const { user, uid, gid, title = name } = read.data;
    if (user !== null && (uid !== null || gid !== null)) {
      return invalid(name, "user", "give user, or uid and gid, not both");
    }
    return ok(profileOf({ ...read.data, name, title }));
  }
  const [path, reason] = faultIn(read.error.issues, "");
  return invalid(name, path, reason);
}

/** The path and reason of the first fault; an unknown setting may be the cause of the others. */
function faultIn(issues: readonly z.core.$ZodIssue[], base: string): [string, string] {
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
  const path = (issue?.path ?? []).reduce<string>(pathTo, base);
  if (issue?.code === "unrecognized_keys") {
    return [pathTo(path, issue.keys[0] ?? ""), "there is no such setting"];
  }
  if (issue?.code !== "invalid_union") return [path, issue?.message ?? ""];
  // The alternative of the value's own type has the fault; if there is none, the last.
  const isOtherType = ([first]: readonly z.core.$ZodIssue[]) =>
    first?.path.length === 0 && ["invalid_type", "invalid_value"].includes(first.code);
  const alternative = issue.errors.find((found) => !isOtherType(found)) ?? issue.errors.at(-1);
  return faultIn(alternative ?? [], path);
}

function pathTo(path: string, key: PropertyKey): string {
  if (typeof key === "number") return `${path}[${key}]`;
  return path === "" ? shown(String(key)) : `${path}.${shown(String(key))}`;
}

const SECRET_NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
const ID_MAX = 2 ** 32 - 2; // The system uses the last one for "no user".
const TEXT = checked(textFault);
const NONEMPTY = checked((text) => (text === "" ? "it is empty" : textFault(text)));
const VARIABLE_NAME = checked(variableFault);
const ABSOLUTE = NONEMPTY.refine((path) => isAbsolute(path), "it must be an absolute path");

/** A variable of the server, or a secret. */
const REFERENCE = z
  .strictObject(
    {
      from: VARIABLE_NAME.optional(),
      secret: checked(secretFault).optional(),
      optional: z.boolean("it must be true or false").optional(),
    },
    "it must be an object",
  )
  .transform(({ from, secret, optional }, context) => {
    if (secret !== undefined && from === undefined) return { secret, optional };
    if (from !== undefined && secret === undefined && optional === undefined) return { from };
    context.addIssue({ code: "custom", message: "it must have from, or secret" });
    return z.NEVER;
  });

const ENVIRONMENT = z
  .record(z.string(), z.union([TEXT, REFERENCE]), "it must be an object")
  .superRefine((env, context) => {
    const entries = Object.entries(env);
    if (entries.length > limits.AGENT_VARIABLES_MAX) {
      const message = `at most ${limits.AGENT_VARIABLES_MAX} are allowed`;
      context.addIssue({ code: "custom", message });
    }
    for (const [name, value] of entries) {
      const isSecret = typeof value === "string" && value !== "" && namesSecret(name);
      const hint = `a secret is not written down here; say {"secret": "${name}"} instead`;
      const message = variableFault(name) ?? (isSecret ? hint : null);
      if (message !== null) context.addIssue({ code: "custom", path: [name], message });
    }
  })
  .default({});

const LIMITS = z.strictObject(
  {
    startMs: whole(1, limits.AGENT_PROFILE_MS_MAX, DEFAULT_LIMITS.startMs),
    callMs: whole(1, limits.AGENT_PROFILE_MS_MAX, DEFAULT_LIMITS.callMs),
    restoreMs: whole(1, limits.AGENT_PROFILE_MS_MAX, DEFAULT_LIMITS.restoreMs),
    sessionsPerProcess: whole(
      1,
      limits.AGENT_SESSIONS_PER_PROCESS_MAX,
      DEFAULT_LIMITS.sessionsPerProcess,
    ),
    memoryBytes: whole(1, Number.MAX_SAFE_INTEGER, DEFAULT_LIMITS.memoryBytes),
    idleMs: whole(0, limits.AGENT_PROFILE_MS_MAX, DEFAULT_LIMITS.idleMs),
  },
  "it must be an object",
);

/** One method that is always usable, or several with conditions. */
const SIGN_INS = `it must be a text, or a list of at most ${limits.AGENT_SIGN_INS_MAX} objects`;
const AUTH = z.union([
  NONEMPTY.transform((method) => [{ method, ifSet: [] as readonly string[] }]),
  z
    .array(z.unknown(), SIGN_INS)
    .max(limits.AGENT_SIGN_INS_MAX, SIGN_INS)
    .refine((methods) => methods.every(isObject), { error: SIGN_INS, abort: true })
    .pipe(
      z.array(
        z.strictObject({
          method: NONEMPTY,
          ifSet: list(VARIABLE_NAME, limits.AGENT_VARIABLES_MAX),
        }),
      ),
    ),
]);

const ASK = z.union([
  z.literal("default").transform(() => askSetup()),
  z
    .strictObject(
      {
        env: ENVIRONMENT,
        args: list(TEXT, limits.AGENT_ARGS_MAX),
        mode: orNull(NONEMPTY),
        options: z
          .record(z.string(), z.union([z.boolean(), NONEMPTY]), "it must be an object")
          .refine(
            (options) => Object.keys(options).length <= limits.AGENT_VARIABLES_MAX,
            `at most ${limits.AGENT_VARIABLES_MAX} are allowed`,
          )
          .default({}),
        unasked: orNull(NONEMPTY),
      },
      'it must be "default", or an object',
    )
    .transform(askSetup),
]);

const MODEL_ALIASES = z
  .record(
    NONEMPTY,
    z.union([NONEMPTY, z.strictObject({ from: VARIABLE_NAME }, "it must be a text, or an object")]),
    "it must be an object",
  )
  .refine(
    (aliases) => Object.keys(aliases).length <= limits.AGENT_VARIABLES_MAX,
    `at most ${limits.AGENT_VARIABLES_MAX} are allowed`,
  )
  .default({});

const USER = NONEMPTY.refine(
  (user) => user.length <= limits.AGENT_USER_CHARS_MAX,
  `it has more than ${limits.AGENT_USER_CHARS_MAX} characters`,
);

const PROFILE = z.strictObject({
  title: NONEMPTY.optional(),
  command: NONEMPTY.refine(
    (command) => !command.includes("/") || isAbsolute(command),
    "it must be a name without a slash, or an absolute path",
  ),
  args: list(TEXT, limits.AGENT_ARGS_MAX),
  env: ENVIRONMENT,
  inherit: list(VARIABLE_NAME, limits.AGENT_VARIABLES_MAX),
  cwd: orNull(ABSOLUTE),
  user: orNull(USER),
  uid: whole(0, ID_MAX, null),
  gid: whole(0, ID_MAX, null),
  limits: LIMITS.default(DEFAULT_LIMITS),
  auth: AUTH.default([]),
  ask: ASK.default(NOT_KNOWN_TO_ASK),
  withhold: list(oneOf(CLIENT_ABILITIES), CLIENT_ABILITIES.length).transform((withheld) =>
    CLIENT_ABILITIES.filter((ability) => withheld.includes(ability)),
  ),
  resume: oneOf(RESUME_PREFERENCES).default("auto"),
  usage: oneOf(USAGE_SCOPES).default("turn"),
  models: MODEL_ALIASES,
  mcp: oneOf(MCP_USES).default("unknown"),
  writes: oneOf(FILE_WRITERS).default("unknown"),
  home: orNull(VARIABLE_NAME),
  install: orNull(NONEMPTY),
  signIn: orNull(NONEMPTY),
});

/** A text with a check that names the fault. */
function checked(faultOf: (text: string) => string | null) {
  const error = ({ input }: { readonly input?: unknown }) =>
    input === undefined ? "it is missing" : "it must be a text";
  return z.string({ error }).superRefine((text, context) => {
    const message = faultOf(text);
    if (message !== null) context.addIssue({ code: "custom", message });
  });
}

function list<Item extends z.ZodType>(item: Item, most: number) {
  const message = `it must be a list of at most ${most} texts`;
  return z.array(item, message).max(most, message).default([]);
}

function whole<Default extends number | null>(least: number, most: number, initial: Default) {
  const message = `it must be a whole number from ${least} to ${most}`;
  const number = z.number(message).int(message).min(least, message).max(most, message);
  return number.optional().transform((value) => value ?? initial);
}

function orNull(text: z.ZodType<string>) {
  return text.optional().transform((value) => value ?? null);
}

function oneOf<Word extends string>(words: readonly Word[]) {
  return z.enum(words, `it must be one of ${words.join(", ")}`);
}

/** A secret's name is that of its file. */
function secretFault(name: string): string | null {
  return SECRET_NAME.test(name) ? null : `it must match ${SECRET_NAME.source}`;
}

import { isIP } from "node:net";
import { isAbsolute } from "node:path";
import { z } from "zod";
import {
  AGENT_RESTORE_MS_MAX,
  CONNECTIONS_MAX,
  HOSTS_MAX,
  OPTION_MS_MAX,
  OPTION_TEXT_CHARS_MAX,
  ORIGINS_MAX,
  PROMPTS_PENDING_MAX,
  PROXIES_MAX,
  RATE_MUTATIONS_MAX,
  RATE_PROMPTS_MAX,
  RATE_READS_MAX,
  RATE_WINDOW_MS,
  SESSIONS_LIVE_MAX,
  TOKEN_CHARS_MAX,
  TOKEN_CHARS_MIN,
  WORKSPACES_MAX,
} from "../core/limits.ts";
import { MEDIATION_POLICIES } from "../core/policy/ask.ts";
import { fail, ok, type Result } from "../core/result.ts";
import { bareName, isHostName, isLoopbackName, isNetwork } from "./http/origins.ts";
import { firstProblem } from "./http/request-schema.ts";

const PORT = 4_170;

const text = z.string().min(1).max(OPTION_TEXT_CHARS_MAX);
const count = z.int().min(0);
const ms = z.int().min(1).max(OPTION_MS_MAX);
const rate = z.int().min(1);

/** Characters that a header can carry. */
const token = z
  .string()
  .trim()
  .min(1, "it is empty: omit it, or set a token")
  .max(TOKEN_CHARS_MAX)
  .regex(/^[\x21-\x7e]+$/, "it contains blanks or characters that a header cannot carry");

const origin = text.refine((value) => value === "*" || isCanonicalOrigin(value), {
  error: 'an origin is "*" or scheme://host[:port], as browsers send it',
});

const host = text.refine(isHostName, {
  error: "a host is a name such as box.example, or an address, without scheme, port and *",
});

const proxy = text.refine(isNetwork, {
  error: "it must be an address, or a network such as 10.0.0.0/8",
});

const path = text.refine(isAbsolute, { error: "a workspace is an absolute path" });

const rates = z
  .strictObject({
    prompt: rate.default(RATE_PROMPTS_MAX),
    mutation: rate.default(RATE_MUTATIONS_MAX),
    read: rate.default(RATE_READS_MAX),
    windowMs: ms.default(RATE_WINDOW_MS),
  })
  .transform(({ windowMs, ...max }) => ({ windowMs, max }));

const settings = z.strictObject({
  hostname: text.default("127.0.0.1"),
  /** 0 takes any free port. */
  port: z.int().min(0).max(65_535).default(PORT),
  token: token.nullable().default(null),
  /** Whether callers can also authenticate by stored tokens or JWTs. */
  hasIdentities: z.boolean().default(false),
  /** Whether `/health` needs the token on a loopback bind too. */
  requireAuth: z.boolean().default(false),
  allowOrigins: z.array(origin).max(ORIGINS_MAX).default([]),
  /** Names for which a loopback bind is addressed too, as by a proxy or tunnel. */
  allowHosts: z.array(host).max(HOSTS_MAX).default([]),
  /** Proxies whose `X-Forwarded-For` is believed. */
  trustedProxies: z.array(proxy).max(PROXIES_MAX).default([]),
  tls: z
    .strictObject({ cert: z.string().min(1), key: z.string().min(1) })
    .nullable()
    .default(null),
  /** In these three, 0 is no limit. */
  maxConnections: count.default(CONNECTIONS_MAX),
  maxSessions: count.default(SESSIONS_LIVE_MAX),
  maxPendingPrompts: count.default(PROMPTS_PENDING_MAX),
  promptDeadlineMs: ms.nullable().default(null),
  writerIdleTimeoutMs: ms.nullable().default(null),
  sessionRestoreTimeoutMs: ms.default(AGENT_RESTORE_MS_MAX),
  /** The scope of sessions whose request names none: shared by the workspace, or separate. */
  sessionScope: z.enum(["single", "thread"]).default("single"),
  enableShell: z.boolean().default(false),
  rateLimit: rates.nullable().default(null),
  permissionPolicy: z.enum(MEDIATION_POLICIES).default("first-responder"),
  consensusQuorum: rate.nullable().default(null),
  /** The first is the default. */
  workspaces: z.array(path).min(1).max(WORKSPACES_MAX),
  /** Tenants may add workspaces below these; without any, anywhere. */
  workspaceRoots: z.array(path).max(WORKSPACES_MAX).default([]),
});

/** Settings as given; omitted ones have defaults. */
export type ServerOptions = z.input<typeof settings>;

export type ServerSettings = z.output<typeof settings>;

/** Reads the operator's settings. Unsafe combinations are refused before the server starts. */
export function readServerSettings(options: unknown): Result<ServerSettings> {
  const read = settings.safeParse(options);
  if (!read.success) {
    const { path, text: reason } = firstProblem(read.error);
    return fail("invalid_server_config", { path: path === "" ? "options" : path, reason });
  }
  const bad = BAD.find(({ isBad }) => isBad(read.data));
  if (bad === undefined) return ok(read.data);
  return fail("invalid_server_config", { path: bad.path, reason: bad.reason });
}

interface BadCombination {
  readonly path: keyof ServerSettings;
  readonly reason: string;
  isBad(settings: ServerSettings): boolean;
}

/** Combinations that would let the wrong callers in, or leave asks that no caller can answer. */
const BAD: readonly BadCombination[] = [
  {
    path: "hostname",
    reason: "other machines can reach this address, so it needs a token; or bind to 127.0.0.1",
    isBad: (settings) => isForAll(settings) && !isLoopbackName(settings.hostname),
  },
  {
    path: "trustedProxies",
    reason: "other machines come through a proxy, so it needs a token",
    isBad: (settings) => isForAll(settings) && settings.trustedProxies.length > 0,
  },
  {
    path: "token",
    reason:
      "other machines can reach the server, and could guess a token of fewer than " +
      `${TOKEN_CHARS_MIN} characters; choose a longer one, as "openssl rand -hex 16" makes it`,
    isBad: (settings) => {
      const { token, hostname, trustedProxies, allowHosts } = settings;
      const isNamed = trustedProxies.length + allowHosts.length > 0;
      const isReached = isNamed || !isLoopbackName(hostname);
      return isReached && token !== null && token.length < TOKEN_CHARS_MIN;
    },
  },
  {
    path: "permissionPolicy",
    reason:
      "local-only takes answers from this machine alone, which cannot reach this address by " +
      "loopback; bind to 127.0.0.1 or to all addresses, or choose another policy",
    isBad: ({ permissionPolicy, hostname }) =>
      permissionPolicy === "local-only" && isOuterAddress(bareName(hostname)),
  },
  {
    path: "allowHosts",
    reason: "other machines come by this name, so it needs a token",
    isBad: (settings) => isForAll(settings) && settings.allowHosts.length > 0,
  },
  {
    path: "allowOrigins",
    reason: "with * every web page has access, so it needs a token",
    isBad: (settings) => isForAll(settings) && settings.allowOrigins.includes("*"),
  },
  {
    path: "requireAuth",
    reason: "there is no token to require; set one",
    isBad: (settings) => isForAll(settings) && settings.requireAuth,
  },
  {
    path: "enableShell",
    reason: "every program on this machine could run commands, so it needs a token",
    isBad: (settings) => isForAll(settings) && settings.enableShell,
  },
];

/** One address of this machine in a network; a name may have another one as well. */
function isOuterAddress(name: string): boolean {
  return isIP(name) !== 0 && !isLoopbackName(name) && name !== "0.0.0.0" && name !== "::";
}

/** Whether every caller that reaches the server is admitted. */
function isForAll({ token, hasIdentities }: ServerSettings): boolean {
  return token === null && !hasIdentities;
}

/** Whether it is an origin as browsers send it: without path and default port. */
function isCanonicalOrigin(value: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s]+$/i.test(value) || !URL.canParse(value)) return false;
  // Editors and desktop programs use schemes for which the URL standard defines no origin.
  return !/^https?:/i.test(value) || new URL(value).origin === value.toLowerCase();
}

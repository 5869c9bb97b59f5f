import type { IncomingMessage } from "node:http";
import { BlockList, isIP, isIPv4, isIPv6 } from "node:net";
import { type Refusal, refusal } from "../../core/error.ts";
import { HOST_CHARS_MAX } from "../../core/limits.ts";
import { type Answer, type AnswerHeaders, empty, refused } from "./answer.ts";

/** Whether a server bound to this name can be reached only from this machine. */
export function isLoopbackName(hostname: string): boolean {
  const name = bareName(hostname);
  return name === "localhost" || name === "::1" || (isIPv4(name) && name.startsWith("127."));
}

/** Whether the remote end of a socket is on this machine. */
function isLoopbackAddress(address: string | undefined): boolean {
  return address !== undefined && isLoopbackName(address.replace(/^::ffff:/i, ""));
}

/** The address without the brackets that URLs put around IPv6. */
export function bareName(hostname: string): string {
  return hostname.toLowerCase().replace(/^\[(.*)\]$/, "$1");
}

/** The address as URLs and `Host` headers spell it. */
export function nameInUrl(hostname: string): string {
  const name = bareName(hostname);
  return name.includes(":") ? `[${name}]` : name;
}

/** Names under which programs on this machine reach the server. */
const LOCAL_NAMES = ["127.0.0.1", "localhost", "[::1]"];

/**
 * The name of this machine in containers. Elsewhere any DNS server may point it at this machine,
 * and web pages under it with it, so it counts only where callers need a token.
 */
const CONTAINER_NAME = "host.docker.internal";

interface ServerNames {
  readonly hostname: string;
  readonly port: number;
  readonly needsToken: boolean;
  /** Names that the operator has allowed, with any port: a proxy or tunnel may have its own. */
  readonly allowHosts: readonly string[];
}

/**
 * The names under which this server may be addressed. A loopback bind refuses all others: a web
 * page whose own name resolves to this machine would arrive under that name (DNS rebinding).
 */
export class OwnNames {
  readonly isLoopback: boolean;
  readonly #port: number;
  readonly #needsToken: boolean;
  readonly #names: ReadonlySet<string>;
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;
  readonly #allowed: ReadonlySet<string>;

  constructor({ hostname, port, needsToken, allowHosts }: ServerNames) {
    this.isLoopback = isLoopbackName(hostname);
    this.#port = port;
    this.#needsToken = needsToken;
    this.#allowed = new Set(allowHosts.map(nameInUrl));
    const names = new Set(LOCAL_NAMES);
    // No foreign name can lead to the configured loopback address, so it is safe too.
    if (this.isLoopback) names.add(nameInUrl(hostname));
    if (needsToken) names.add(CONTAINER_NAME);
    const bare = port === 80 || port === 443 ? [...names] : [];
    this.#hosts = new Set([...[...names].map((name) => `${name}:${port}`), ...bare]);
    this.#origins = new Set([...names].flatMap((name) => originsOf(name, port)));
    this.#names = names;
  }

  /**
   * Refuses `Host` headers that do not name this server, and says what would allow them. Without a
   * loopback bind any name may. Of two a proxy may have believed the other one.
   */
  hostRefusal(hosts: readonly string[]): Refusal | null {
    const [host, ...others] = hosts;
    if (others.length > 0) return foreignHost("there has to be exactly one");
    if (!this.isLoopback) return null;
    if (host === undefined) return foreignHost("there has to be one");
    const name = nameOfHost(host);
    const isOwn = this.#hosts.has(host.toLowerCase()) || this.#allowed.has(name ?? "");
    return isOwn ? null : foreignHost(this.#adviceFor(name));
  }

  #adviceFor(name: string | null): string {
    if (name !== null && this.#names.has(name)) {
      return `this server is at port ${this.#port}, so the header is ${name}:${this.#port}`;
    }
    if (name === CONTAINER_NAME) return `start the server with a token to allow ${name}`;
    const token = this.#needsToken ? "" : " and a token";
    return `start the server with --allow-host ${name ?? "NAME"}${token} to allow this name`;
  }

  /**
   * Whether a page comes from this server itself. Behind another name, such as a proxy's, origin
   * and host are the same; there the server needs a token anyway.
   */
  hasOrigin(origin: string, host: string | undefined): boolean {
    const page = origin.toLowerCase();
    if (this.#origins.has(page)) return true;
    if (host === undefined || hostOf(page) !== host.toLowerCase()) return false;
    return !this.isLoopback || this.#allowed.has(nameOfHost(host) ?? "");
  }
}

function foreignHost(reason: string): Refusal {
  return refusal("invalid_host", { reason });
}

/** The name of a `Host` header without its port; null if it is no name that may be repeated. */
function nameOfHost(host: string): string | null {
  const name = host.toLowerCase().replace(/:\d{1,5}$/, "");
  return isHostName(name) ? name : null;
}

/** Whether this is the name or address of a machine, as in a URL: without scheme and port. */
export function isHostName(text: string): boolean {
  const name = bareName(text);
  const isName = name.length <= HOST_CHARS_MAX && name.split(".").every((part) => LABEL.test(part));
  return isName || isIPv6(name);
}

const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

function originsOf(name: string, port: number): readonly string[] {
  const withoutPort = port === 80 ? [`http://${name}`] : port === 443 ? [`https://${name}`] : [];
  return [`http://${name}:${port}`, `https://${name}:${port}`, ...withoutPort];
}

function hostOf(origin: string): string | undefined {
  return /^https?:\/\/([^/]+)$/.exec(origin)?.[1];
}

/** The part of a request that browsers set. */
export interface CrossOrigin {
  readonly method: string | undefined;
  readonly origin: string | undefined;
  readonly host: string | undefined;
  /** Whether it has a header that only preflight requests have. */
  readonly isPreflight: boolean;
  /** Whether a page of another site asks for something inside it, as for an image. */
  readonly isCrossSite: boolean;
}

/** Browsers say it also where they send no `Origin`. A link that a person follows is none. */
export function isCrossSite({ headers }: Pick<IncomingMessage, "headers">): boolean {
  return headers["sec-fetch-site"] === "cross-site" && headers["sec-fetch-mode"] !== "navigate";
}

/** Headers for the answer, and the answer itself if the request ends here. */
export interface CorsDecision {
  readonly headers: AnswerHeaders;
  readonly answer: Answer | null;
}

const VARY = { Vary: "Origin" };

function denied(advice: string): CorsDecision {
  return { headers: VARY, answer: refused(refusal("cors_denied", { advice })) };
}

/** As an origin may be repeated in the refusal of it: no text that a page has made up. */
const SHOWN_ORIGIN = /^[a-z][a-z0-9+.-]{0,31}:\/\/[\w.:[\]-]{1,255}$/i;

function adviceFor(origin: string | undefined): string {
  if (origin === "null") return "a page without an origin, such as a file, cannot be allowed";
  const shown = origin !== undefined && SHOWN_ORIGIN.test(origin) ? origin : "URL";
  return `start the server with --allow-origin ${shown} to allow the pages of this origin`;
}

/** Headers for allowed pages. Credentials are never allowed. */
const ALLOWED = {
  ...VARY,
  "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE, OPTIONS",
  "Access-Control-Allow-Headers":
    "Authorization, Content-Type, X-Qwen-Client-Id, Last-Event-ID, X-Qwen-Event-Epoch, " +
    "Idempotency-Key, X-Request-Id",
  "Access-Control-Max-Age": "86400",
  "Access-Control-Expose-Headers":
    "Retry-After, X-Qwen-Event-Epoch, X-Qwen-SSE-Stream-Id, X-Request-Id",
};

/** Refuses web pages that the operator has not allowed: browsers would send their requests here. */
export class CorsGate {
  readonly #allowed: ReadonlySet<string>;

  constructor(allowOrigins: readonly string[]) {
    this.#allowed = new Set(allowOrigins.map((origin) => origin.toLowerCase()));
  }

  judge(request: CrossOrigin, own: OwnNames): CorsDecision {
    const { method, origin, host, isPreflight } = request;
    if (origin === undefined && request.isCrossSite && !this.#allowed.has("*")) {
      return denied(adviceFor(origin));
    }
    if (origin === undefined || own.hasOrigin(origin, host)) return { headers: {}, answer: null };
    if (!this.#allows(origin)) return denied(adviceFor(origin));
    const headers = { ...ALLOWED, "Access-Control-Allow-Origin": origin };
    return { headers, answer: method === "OPTIONS" && isPreflight ? empty() : null };
  }

  /** `null` is the origin of sandboxed pages, and any page can create one. */
  #allows(origin: string): boolean {
    if (origin === "null") return false;
    return this.#allowed.has("*") || this.#allowed.has(origin.toLowerCase());
  }
}

/** Where a request comes from, as far as that is certain. */
export interface RequestPeer {
  /** Undefined if the connection is closed, or the proxy did not name the address. */
  readonly address: string | undefined;
  /** Whether the request was made on this machine, and not forwarded from another. */
  readonly isLoopback: boolean;
}

/**
 * Proxies whose `X-Forwarded-For` is believed. Without them all callers behind a proxy share its
 * address, and one that guesses tokens would make all of them wait.
 */
export class TrustedProxies {
  readonly #trusted = new BlockList();

  constructor(networks: readonly string[]) {
    for (const network of networks) {
      const [address = "", bits] = network.split("/");
      const family = isIPv4(address) ? "ipv4" : "ipv6";
      if (bits === undefined) this.#trusted.addAddress(address, family);
      else this.#trusted.addSubnet(address, Number(bits), family);
    }
  }

  /**
   * Each proxy appends the address it got the request from. So the last address that is not a
   * trusted proxy is the last reliable one: what stands before it may be forged.
   */
  peerOf({ socket, headers }: Pick<IncomingMessage, "socket" | "headers">): RequestPeer {
    const { remoteAddress } = socket;
    const forwarded = headers["x-forwarded-for"];
    if (forwarded === undefined) return peerAt(remoteAddress, this.#isTrusted(remoteAddress));
    if (!this.#isTrusted(remoteAddress)) return { address: remoteAddress, isLoopback: false };
    const hops = String(forwarded).split(",").map(addressIn).toReversed();
    const address = hops.find((hop) => hop === null || !this.#isTrusted(hop)) ?? undefined;
    return { address, isLoopback: false };
  }

  #isTrusted(address: string | undefined): boolean {
    if (address === undefined) return false;
    const bare = plain(address);
    const family = isIPv4(bare) ? "ipv4" : "ipv6";
    return isIP(bare) !== 0 && this.#trusted.check(bare, family);
  }
}

/** A proxy that does not name its client does not make the client local. */
function peerAt(address: string | undefined, isProxy: boolean): RequestPeer {
  return { address, isLoopback: !isProxy && isLoopbackAddress(address) };
}

/** Some proxies add the port. Null if it is not an address. */
function addressIn(hop: string): string | null {
  const text = hop.trim();
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? text.replace(/^([\d.]+):\d+$/, "$1");
  return isIP(bare) === 0 ? null : plain(bare);
}

/** Unwraps an IPv4 address that is written as IPv6. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "");
}

/** The owner of one IPv6 address has its whole network, so the network counts as one address. */
export function networkOf(address: string | undefined): string {
  if (address === undefined || !isIPv6(address) || address.startsWith("::")) return address ?? "";
  const [head = "", tail] = address.split("::");
  const groups = tail === undefined ? head.split(":") : [...head.split(":"), "0", "0", "0"];
  return groups.slice(0, 4).join(":");
}

/** Whether this names an address or a network: `10.0.0.1`, `10.0.0.0/8`, `::1`, `fd00::/8`. */
export function isNetwork(text: string): boolean {
  const [address = "", bits, more] = text.split("/");
  const family = isIP(address);
  if (family === 0 || more !== undefined) return false;
  return (
    bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
  );
}

import type { IncomingMessage } from "node:http";
import { BlockList, isIP, isIPv4 } from "node:net";
import { refusal } from "../../core/error.ts";
import { type Answer, type AnswerHeaders, empty, refused } from "./answer.ts";

/** Whether binding to this name reaches nobody but this machine (wire, 1.1). */
export function isLoopbackName(hostname: string): boolean {
  const name = bareName(hostname);
  return name === "localhost" || name === "::1" || (isIPv4(name) && name.startsWith("127."));
}

/** Whether a socket's other end is on this machine. */
function isLoopbackAddress(address: string | undefined): boolean {
  return address !== undefined && isLoopbackName(address.replace(/^::ffff:/i, ""));
}

/** An address as the system takes it: `[::1]` is how it is written in URLs. */
export function bareName(hostname: string): string {
  return hostname.toLowerCase().replace(/^\[(.*)\]$/, "$1");
}

/** The same as URLs and `Host` headers have it. */
export function nameInUrl(hostname: string): string {
  const name = bareName(hostname);
  return name.includes(":") ? `[${name}]` : name;
}

/** Where a server can be reached by programs on its own machine, containers included. */
const LOCAL_NAMES = ["127.0.0.1", "localhost", "[::1]", "host.docker.internal"];

/**
 * The names under which this server may be addressed. On a loopback bind all others are refused:
 * a web page that has its own name point to this machine would come under that name (wire, 1.5).
 */
export class OwnNames {
  readonly isLoopback: boolean;
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;

  constructor(hostname: string, port: number) {
    this.isLoopback = isLoopbackName(hostname);
    // Another loopback address cannot be reached by a name that somebody else has made up.
    const names = new Set([...LOCAL_NAMES, ...(this.isLoopback ? [nameInUrl(hostname)] : [])]);
    const bare = port === 80 || port === 443 ? [...names] : [];
    this.#hosts = new Set([...[...names].map((name) => `${name}:${port}`), ...bare]);
    this.#origins = new Set([...names].flatMap((name) => originsOf(name, port)));
  }

  /** Whether the `Host` header names this server; elsewhere than on loopback anything may. */
  hasHost(host: string | undefined): boolean {
    return !this.isLoopback || (host !== undefined && this.#hosts.has(host.toLowerCase()));
  }

  /**
   * Whether a page comes from this server itself. Behind another name, such as a proxy's, the
   * browser says so by naming the same host twice; only a token opens the door there anyway.
   */
  hasOrigin(origin: string, host: string | undefined): boolean {
    const page = origin.toLowerCase();
    if (this.#origins.has(page)) return true;
    return !this.isLoopback && host !== undefined && hostOf(page) === host.toLowerCase();
  }
}

function originsOf(name: string, port: number): readonly string[] {
  const usual = port === 80 ? [`http://${name}`] : port === 443 ? [`https://${name}`] : [];
  return [`http://${name}:${port}`, `https://${name}:${port}`, ...usual];
}

function hostOf(origin: string): string | undefined {
  return /^https?:\/\/([^/]+)$/.exec(origin)?.[1];
}

/** The part of a request that browsers fill in. */
export interface CrossOrigin {
  readonly method: string | undefined;
  readonly origin: string | undefined;
  readonly host: string | undefined;
  /** Whether it has any header that only a preflight has. */
  readonly isPreflight: boolean;
}

/** Headers for whatever is answered, and the answer itself if this is where it ends. */
export interface CorsJudgement {
  readonly headers: AnswerHeaders;
  readonly answer: Answer | null;
}

const VARY = { Vary: "Origin" };

/** What every allowed page gets to know; credentials are never among it (wire, 1.4). */
const ALLOWED = {
  ...VARY,
  "Access-Control-Allow-Methods": "GET, POST, PATCH, DELETE, OPTIONS",
  "Access-Control-Allow-Headers":
    "Authorization, Content-Type, X-Qwen-Client-Id, Last-Event-ID, X-Qwen-Event-Epoch, " +
    "Idempotency-Key, X-Request-Id",
  "Access-Control-Max-Age": "86400",
  "Access-Control-Expose-Headers":
    "Retry-After, X-Qwen-Event-Epoch, X-Qwen-SSE-Stream-Id, X-Request-Id",
};

/** Keeps web pages out that the operator has not let in: their users' browsers send them here. */
export class CorsGate {
  readonly #allowed: ReadonlySet<string>;

  constructor(allowOrigins: readonly string[]) {
    this.#allowed = new Set(allowOrigins.map((origin) => origin.toLowerCase()));
  }

  judge({ method, origin, host, isPreflight }: CrossOrigin, own: OwnNames): CorsJudgement {
    if (origin === undefined || own.hasOrigin(origin, host)) return { headers: {}, answer: null };
    if (!this.#allows(origin)) return { headers: VARY, answer: refused(refusal("cors_denied")) };
    const headers = { ...ALLOWED, "Access-Control-Allow-Origin": origin };
    return { headers, answer: method === "OPTIONS" && isPreflight ? empty() : null };
  }

  /** `null` is what a sandboxed page says, and any page can make one of those. */
  #allows(origin: string): boolean {
    if (origin === "null") return false;
    return this.#allowed.has("*") || this.#allowed.has(origin.toLowerCase());
  }
}

/** Where a request comes from, as far as that can be believed. */
export interface Peer {
  /** Undefined if its connection is gone already, or its proxy did not say. */
  readonly address: string | undefined;
  /** Whether it was made on this machine, and not merely handed on here. */
  readonly isLoopback: boolean;
}

/**
 * Proxies whose word is taken for where a request comes from. Without one, everybody behind a proxy
 * has its address: then one who guesses tokens would make all of them wait.
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
   * Each proxy adds whom it got the request from at the end, so the last address that is not one of
   * ours is the last that can be believed: whoever is behind it may have written anything.
   */
  peerOf({ socket, headers }: Pick<IncomingMessage, "socket" | "headers">): Peer {
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

/** A proxy that forwards without saying for whom does not make its callers local. */
function peerAt(address: string | undefined, isProxy: boolean): Peer {
  return { address, isLoopback: !isProxy && isLoopbackAddress(address) };
}

/** Some proxies write the port, too; null is what is no address. */
function addressIn(hop: string): string | null {
  const text = hop.trim();
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? text.replace(/^([\d.]+):\d+$/, "$1");
  return isIP(bare) === 0 ? null : plain(bare);
}

/** An address of the old kind is the same however it is written. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "");
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

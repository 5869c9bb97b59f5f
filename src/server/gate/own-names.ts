import { isIPv4 } from "node:net";

/** Whether binding to this name reaches nobody but this machine (wire, 1.1). */
export function isLoopbackName(hostname: string): boolean {
  const name = bareName(hostname);
  return name === "localhost" || name === "::1" || (isIPv4(name) && name.startsWith("127."));
}

/** Whether a socket's other end is on this machine. */
export function isLoopbackAddress(address: string | undefined): boolean {
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

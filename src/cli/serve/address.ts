import { networkInterfaces } from "node:os";
import { isLoopbackName } from "../../server/http/origins.ts";
import type { ServerSettings } from "../../server/settings.ts";

/** Addresses that are bound to all interfaces of the machine: no URL with them can be opened. */
const ALL = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["[::]", "[::1]"],
]);

/**
 * The URLs under which the server can be opened, the best one first. Of a server that listens on
 * all addresses those are the machine's own, as other machines see it.
 */
export function openUrls(url: string, interfaces = networkInterfaces()): readonly string[] {
  const { hostname } = new URL(url);
  const local = ALL.get(hostname);
  if (local === undefined) return [url];
  const found = Object.values(interfaces).flatMap((addresses) => addresses ?? []);
  const outer = found.filter(({ internal, address }) => !internal && !/^fe80:/i.test(address));
  const names = outer.flatMap(({ family, address }) => {
    if (family === "IPv4") return [address];
    return hostname === "[::]" ? [`[${address}]`] : [];
  });
  names.sort((a, b) => Number(a.startsWith("[")) - Number(b.startsWith("[")));
  return [...names, local].map((name) => url.replace(hostname, name));
}

/** What the operator should know of a server that other machines can reach. */
export function addressNotes(
  { hostname, tls }: Pick<ServerSettings, "hostname" | "tls">,
  [, ...others]: readonly string[],
): readonly string[] {
  const also = others.length === 0 ? [] : [`also on ${others.join(", ")}`];
  if (isLoopbackName(hostname) || tls !== null) return also;
  return [...also, PLAIN_TEXT];
}

const PLAIN_TEXT =
  "Other machines reach this server without TLS, so tokens travel in plain text, and each " +
  "network on the way can read them. Use --tls-cert and --tls-key, or a proxy with TLS";

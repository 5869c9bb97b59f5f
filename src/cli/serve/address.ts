import { networkInterfaces } from "node:os";
import { ok, type Result } from "../../core/result.ts";
import { EarlyListener } from "../../server/http/early-listener.ts";
import { isLoopbackName } from "../../server/http/origins.ts";
import type { ServerSettings } from "../../server/settings.ts";

type Interfaces = ReturnType<typeof networkInterfaces>;

/** Addresses that are bound to all interfaces of the machine: no URL with them can be opened. */
const ALL = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["[::]", "[::1]"],
]);

/**
 * The URLs under which the server can be opened, the best one first. Of a server that listens on
 * all addresses those are the machine's own, as other machines see it.
 */
function openUrls(url: string, interfaces: Interfaces): readonly string[] {
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

/** The URL to show for a server, and what else the operator should know of its address. */
export function addressLines(
  { hostname, tls }: Pick<ServerSettings, "hostname" | "tls">,
  bound: string,
  interfaces = networkInterfaces(),
): { readonly url: string; readonly localUrl: string; readonly notes: readonly string[] } {
  const urls = openUrls(bound, interfaces);
  const [url = bound, ...others] = urls;
  const localUrl = urls.at(-1) ?? bound;
  const also = others.length === 0 ? [] : [`also on ${others.join(", ")}`];
  const isPrivate = isLoopbackName(hostname) || tls !== null;
  return { url, localUrl, notes: isPrivate ? also : [...also, PLAIN_TEXT] };
}

const PLAIN_TEXT =
  "Other machines reach this server without TLS, so tokens travel in plain text, and each " +
  "network on the way can read them. Use --tls-cert and --tls-key, or a proxy with TLS";

/**
 * Listens before there is anything behind it, so that programs which wait for the server find it
 * at once. Null where other machines may come: only the store knows which callers have tokens.
 */
export async function listenEarly(settings: ServerSettings): Promise<Result<EarlyListener | null>> {
  if (!isLoopbackName(settings.hostname) || settings.requireAuth) return ok(null);
  const early = new EarlyListener(settings);
  const address = await early.listen();
  return address.ok ? ok(early) : address;
}

import type { IncomingMessage } from "node:http";
import { BlockList, isIP, isIPv4 } from "node:net";
import { isLoopbackAddress } from "./own-names.ts";

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

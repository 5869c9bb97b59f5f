import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { isNetwork, TrustedProxies } from "./origins.ts";

const LOCAL_PROXY = new TrustedProxies(["127.0.0.1", "::1", "10.0.0.0/8", "fd00::/8"]);
const UNKNOWN_CALLER = new TrustedProxies([]);

function request(remoteAddress: string | undefined, forwarded?: string) {
  const socket = { remoteAddress } as IncomingMessage["socket"];
  return { socket, headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded } };
}

describe("where a request comes from", () => {
  it.each([
    ["the connection's other end", UNKNOWN_CALLER, "192.0.2.7", undefined, "192.0.2.7", false],
    ["this machine", UNKNOWN_CALLER, "127.0.0.1", undefined, "127.0.0.1", true],
    [
      "this machine, by its other name",
      UNKNOWN_CALLER,
      "::ffff:127.0.0.1",
      undefined,
      undefined,
      true,
    ],
    [
      "a proxy that is not trusted, whatever it says",
      UNKNOWN_CALLER,
      "10.1.1.1",
      "1.2.3.4",
      "10.1.1.1",
    ],
    [
      "a local proxy that nobody named: not local",
      UNKNOWN_CALLER,
      "127.0.0.1",
      "1.2.3.4",
      "127.0.0.1",
    ],
    ["what a trusted proxy says", LOCAL_PROXY, "127.0.0.1", "192.0.2.7", "192.0.2.7"],
    ["the same over IPv6", LOCAL_PROXY, "fd00::9", "2001:db8::1", "2001:db8::1"],
    ["with a port", LOCAL_PROXY, "127.0.0.1", "192.0.2.7:443", "192.0.2.7"],
    ["with brackets and a port", LOCAL_PROXY, "127.0.0.1", "[2001:db8::1]:9", "2001:db8::1"],
    [
      "the last that ours did not write",
      LOCAL_PROXY,
      "::1",
      "6.6.6.6, 1.2.3.4, 10.0.0.2",
      "1.2.3.4",
    ],
    ["nobody knows: it says nonsense", LOCAL_PROXY, "127.0.0.1", "1.2.3.4, nonsense", undefined],
    ["nobody knows: it names only proxies", LOCAL_PROXY, "127.0.0.1", "10.0.0.3", undefined],
  ])("%s", (_, proxies, remote, forwarded, address, isLoopback = false) => {
    const peer = proxies.peerOf(request(remote, forwarded));
    expect(peer.isLoopback).toBe(isLoopback);
    if (address !== undefined || forwarded !== undefined) expect(peer.address).toBe(address);
  });

  it("is not this machine if a trusted proxy forgets to say", () => {
    expect(LOCAL_PROXY.peerOf(request("127.0.0.1"))).toEqual({
      address: "127.0.0.1",
      isLoopback: false,
    });
  });

  it("is unknown when the connection is gone", () => {
    expect(LOCAL_PROXY.peerOf(request(undefined, "1.2.3.4")).isLoopback).toBe(false);
  });
});

describe("a network", () => {
  it.each(["10.0.0.1", "10.0.0.0/8", "0.0.0.0/0", "::1", "fd00::/8", "::/128"])("is %s", (text) => {
    expect(isNetwork(text)).toBe(true);
  });
  it.each(["", "proxy", "10.0.0", "10.0.0.0/33", "fd00::/129", "10.0.0.0/8/8", "10.0.0.0/-1"])(
    "is not %j",
    (text) => {
      expect(isNetwork(text)).toBe(false);
    },
  );
});

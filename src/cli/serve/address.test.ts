import type { NetworkInterfaceInfo } from "node:os";
import { describe, expect, it } from "vitest";
import { addressNotes, openUrls } from "./address.ts";

function info(address: string, internal = false): NetworkInterfaceInfo {
  const rest = { address, netmask: "", mac: "", cidr: null, internal };
  return address.includes(":")
    ? { ...rest, family: "IPv6", scopeid: 0 }
    : { ...rest, family: "IPv4" };
}

const HOME = {
  lo: [info("127.0.0.1", true), info("::1", true)],
  wifi: [info("2001:db8::7"), info("fe80::1"), info("192.168.1.20")],
};

describe("the URLs of a server", () => {
  it.each([
    ["http://127.0.0.1:4170", ["http://127.0.0.1:4170"]],
    ["https://box.example:443", ["https://box.example:443"]],
    ["http://0.0.0.0:4170", ["http://192.168.1.20:4170", "http://127.0.0.1:4170"]],
    ["http://[::]:80", ["http://192.168.1.20:80", "http://[2001:db8::7]:80", "http://[::1]:80"]],
  ])("on %s are those that can be opened: %j", (url, urls) => {
    expect(openUrls(url, HOME)).toEqual(urls);
  });

  it("are this machine's own where it has no network", () => {
    expect(openUrls("http://0.0.0.0:4170", {})).toEqual(["http://127.0.0.1:4170"]);
  });
});

describe("the notes for an operator", () => {
  const urls = ["http://192.168.1.20:4170", "http://127.0.0.1:4170"];

  it("tell that tokens travel in plain text where others reach a server without TLS", () => {
    expect(addressNotes({ hostname: "0.0.0.0", tls: null }, urls)).toEqual([
      "also on http://127.0.0.1:4170",
      expect.stringMatching(/tokens travel in plain text.* Use --tls-cert and --tls-key/),
    ]);
  });

  it.each([
    { hostname: "127.0.0.1", tls: null },
    { hostname: "box.example", tls: { cert: "c", key: "k" } },
  ])("tell nothing where they do not: %j", (settings) => {
    expect(addressNotes(settings, urls.slice(0, 1))).toEqual([]);
  });
});

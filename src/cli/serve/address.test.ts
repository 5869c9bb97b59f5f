import type { NetworkInterfaceInfo } from "node:os";
import { describe, expect, it } from "vitest";
import { addressLines } from "./address.ts";

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

const OPEN = { hostname: "0.0.0.0", tls: null };

describe("the address of a server", () => {
  it.each([
    ["http://127.0.0.1:4170", "http://127.0.0.1:4170", null],
    ["https://box.example:443", "https://box.example:443", null],
    ["http://0.0.0.0:4170", "http://192.168.1.20:4170", "also on http://127.0.0.1:4170"],
    [
      "http://[::]:80",
      "http://192.168.1.20:80",
      "also on http://[2001:db8::7]:80, http://[::1]:80",
    ],
  ])("%s is shown as one that can be opened: %s", (bound, url, also) => {
    const shown = addressLines({ hostname: "127.0.0.1", tls: null }, bound, HOME);
    expect(shown).toMatchObject({ url, notes: also === null ? [] : [also] });
  });

  it("is this machine's own where it has no network", () => {
    expect(addressLines(OPEN, "http://0.0.0.0:4170", {}).url).toBe("http://127.0.0.1:4170");
    const { localUrl } = addressLines(OPEN, "http://0.0.0.0:4170", HOME);
    expect(localUrl).toBe("http://127.0.0.1:4170");
  });

  it("comes with a warning where tokens travel in plain text", () => {
    expect(addressLines(OPEN, "http://0.0.0.0:4170", HOME).notes).toEqual([
      "also on http://127.0.0.1:4170",
      expect.stringMatching(/tokens travel in plain text.* Use --tls-cert and --tls-key/),
    ]);
    const tls = { cert: "c", key: "k" };
    expect(addressLines({ ...OPEN, tls }, "https://192.168.1.20:4170", HOME).notes).toEqual([]);
  });
});

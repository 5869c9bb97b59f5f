import { describe, expect, it } from "vitest";
import { readServerSettings, type ServerOptions } from "./settings.ts";

/** As short as a token may be where other machines reach the server. */
const LONG = "sixteen-letters!";

const read = (options: Partial<ServerOptions> | Record<string, unknown> = {}) =>
  readServerSettings({ workspaces: ["/w"], ...options });

describe("the settings of a server", () => {
  it("have the protocol's defaults", () => {
    expect(read()).toEqual({
      ok: true,
      value: {
        hostname: "127.0.0.1",
        port: 4_170,
        token: null,
        hasIdentities: false,
        requireAuth: false,
        allowOrigins: [],
        allowHosts: [],
        trustedProxies: [],
        tls: null,
        maxConnections: 256,
        maxSessions: 20,
        maxPendingPrompts: 5,
        promptDeadlineMs: null,
        writerIdleTimeoutMs: null,
        sessionRestoreTimeoutMs: 60_000,
        sessionScope: "single",
        enableShell: false,
        rateLimit: null,
        permissionPolicy: "first-responder",
        consensusQuorum: null,
        workspaces: ["/w"],
        workspaceRoots: [],
      },
    });
  });

  it("limit rates as the wire does, if they do at all", () => {
    expect(read({ rateLimit: {} })).toMatchObject({
      value: {
        rateLimit: { max: { prompt: 10, mutation: 30, read: 120 }, windowMs: 60_000 },
      },
    });
  });

  it("take a token without the blanks around it", () => {
    expect(read({ token: " secret\n" })).toMatchObject({ value: { token: "secret" } });
  });

  it.each(["*", "https://a.example", "http://localhost:3000", "vscode-webview://abc"])(
    "take the origin %s",
    (origin) => {
      expect(read({ token: "t", allowOrigins: [origin] })).toMatchObject({ ok: true });
    },
  );

  it.each(["box", "Box.tail-1.ts.net", "my_service", "192.0.2.7", "::1", "[fd00::1]"])(
    "take the host %s",
    (host) => expect(read({ token: LONG, allowHosts: [host] })).toMatchObject({ ok: true }),
  );

  it.each<[string, Record<string, unknown>, string]>([
    ["an unknown option", { prot: 1 }, "options"],
    ["a port that is none", { port: 65_536 }, "port"],
    ["half a port", { port: 1.5 }, "port"],
    ["an empty token", { token: "  " }, "token"],
    ["a token that no header can carry", { token: "a b" }, "token"],
    ["an origin with a path", { allowOrigins: ["https://a.example/x"] }, "allowOrigins.0"],
    [
      "an origin with its usual port",
      { allowOrigins: ["https://a.example:443"] },
      "allowOrigins.0",
    ],
    ["a host with a scheme", { token: LONG, allowHosts: ["https://box.example"] }, "allowHosts.0"],
    ["a host with a port", { token: LONG, allowHosts: ["box.example:80"] }, "allowHosts.0"],
    ["all hosts", { token: LONG, allowHosts: ["*"] }, "allowHosts.0"],
    ["all hosts of a domain", { token: LONG, allowHosts: ["*.example"] }, "allowHosts.0"],
    ["a host that is too long", { token: LONG, allowHosts: ["a.".repeat(127)] }, "allowHosts.0"],
    ["a proxy that is no address", { trustedProxies: ["proxy.example"] }, "trustedProxies.0"],
    ["a relative workspace", { workspaces: ["w"] }, "workspaces.0"],
    ["no workspace", { workspaces: [] }, "workspaces"],
    ["an unknown policy", { permissionPolicy: "lottery" }, "permissionPolicy"],
    ["a wait that no timer takes", { promptDeadlineMs: 2_147_483_648 }, "promptDeadlineMs"],
    ["a negative count", { maxSessions: -1 }, "maxSessions"],
    ["half a key", { tls: { cert: "x" } }, "tls.key"],
  ])("refuse %s, and say where", (_what, options, path) => {
    expect(read(options)).toMatchObject({
      ok: false,
      refusal: { code: "invalid_server_config", details: { path } },
    });
  });

  it("name an option that does not exist", () => {
    expect(read({ prot: 1 })).toMatchObject({
      refusal: { details: { reason: expect.stringContaining("prot") } },
    });
  });

  it("never repeat a token", () => {
    const refused = read({ token: "very secret" });
    expect(JSON.stringify(refused)).not.toContain("very");
  });
});

describe("a server whose asks only this machine may answer", () => {
  const readLocal = (hostname: string) =>
    read({ hostname, token: LONG, permissionPolicy: "local-only" });

  it.each(["192.168.0.1", "2001:db8::1", "[2001:db8::1]"])(
    "does not start on %s, where none from this machine would be local",
    (hostname) => {
      expect(readLocal(hostname)).toMatchObject({
        refusal: { details: { path: "permissionPolicy", reason: expect.stringMatching(/127/) } },
      });
    },
  );

  it.each(["127.0.0.1", "::1", "0.0.0.0", "::", "box.example"])("starts on %s", (hostname) => {
    expect(readLocal(hostname)).toMatchObject({ ok: true });
  });
});

describe("a short token", () => {
  const SHORT = LONG.slice(1);
  const refused = {
    refusal: { details: { path: "token", reason: expect.stringContaining("fewer than 16") } },
  };

  it.each<Partial<ServerOptions>>([
    { hostname: "0.0.0.0" },
    { hostname: "192.168.0.1" },
    { trustedProxies: ["127.0.0.1"] },
    { allowHosts: ["box.example"] },
  ])("is refused where other machines reach the server: %j", (options) => {
    expect(read({ ...options, token: SHORT })).toMatchObject(refused);
    expect(read({ ...options, token: LONG })).toMatchObject({ ok: true });
  });

  it("is a person's own business on their own machine", () => {
    expect(read({ token: "t" })).toMatchObject({ ok: true });
  });
});

describe("a server without a token", () => {
  it.each(["127.0.0.1", "127.9.9.9", "localhost", "LocalHost", "::1", "[::1]"])(
    "may be bound to %s",
    (hostname) => {
      expect(read({ hostname })).toMatchObject({ ok: true });
    },
  );

  it("takes no requests from a proxy, which brings others", () => {
    const trustedProxies = ["127.0.0.1"];
    expect(read({ trustedProxies })).toMatchObject({
      refusal: { details: { path: "trustedProxies", reason: expect.stringContaining("token") } },
    });
    expect(read({ trustedProxies, token: LONG })).toMatchObject({ ok: true });
  });

  it.each(["0.0.0.0", "::", "192.168.0.1", "example.com", "127.evil.example", "127.0.0.1.nip.io"])(
    "does not start on %s, and does with one",
    (hostname) => {
      expect(read({ hostname })).toMatchObject({
        refusal: { details: { path: "hostname", reason: expect.stringContaining("token") } },
      });
      expect(read({ hostname, token: LONG })).toMatchObject({ ok: true });
    },
  );

  it.each<[string, Partial<ServerOptions>]>([
    ["allowOrigins", { allowOrigins: ["*"] }],
    ["allowHosts", { allowHosts: ["box.example"] }],
    ["requireAuth", { requireAuth: true }],
    ["enableShell", { enableShell: true }],
  ])("does not start with %s, which needs one", (path, options) => {
    expect(read(options)).toMatchObject({ refusal: { details: { path } } });
    expect(read({ ...options, token: LONG })).toMatchObject({ ok: true });
  });
});

import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { STARTING_REQUESTS_MAX, STARTING_WAIT_MS_MAX } from "../../core/limits.ts";
import { ManualClock } from "../../platform/manual-clock.fixture.ts";
import { readServerSettings, type ServerOptions } from "../settings.ts";
import { EarlyListener } from "./early-listener.ts";
import { closeServers, granted, mirror, serve } from "./server.fixture.ts";

afterEach(closeServers);

const WORKSPACES = { workspaces: ["/a/workspace"], port: 0 };

/** A listener with no server behind it yet. */
async function starting(options: Partial<ServerOptions> = {}) {
  const clock = new ManualClock();
  const settings = granted(readServerSettings({ ...WORKSPACES, ...options }));
  const early = new EarlyListener(settings, clock);
  const { url } = granted(await early.listen());
  onTestFinished(() => early.close());
  return { early, clock, url };
}

/** So many requests have come and are not answered. */
const waiting = (clock: ManualClock, count: number) =>
  expect.poll(() => clock.running(STARTING_WAIT_MS_MAX)).toBe(count);

const JSON_BODY = { "content-type": "application/json" };

const post = (url: string, n: number) =>
  fetch(`${url}/mirror`, { method: "POST", body: JSON.stringify({ n }), headers: JSON_BODY });

describe("a server that is asked while it starts", () => {
  it("says that it is starting, and that it is there when it is", async () => {
    const { early, url } = await starting();
    const first = await fetch(`${url}/health`);
    expect([first.status, await first.text()]).toEqual([200, '{"status":"starting"}']);
    expect(first.headers.get("server")).toBe("fermata");
    expect(first.headers.get("cache-control")).toBe("no-store");
    await serve([], {}, { early });
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: "ok" });
  });

  it("loses no request: all that waited are answered by the server", async () => {
    const { early, clock, url } = await starting();
    const asked = [1, 2, 3].map((n) => post(url, n));
    await waiting(clock, 3);
    await serve([mirror({ path: "/mirror" })], {}, { early });
    const answers = await Promise.all(asked);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const bodies = await Promise.all(answers.map((answer) => answer.json()));
    expect(bodies).toMatchObject([1, 2, 3].map((n) => ({ body: { n } })));
    expect(clock.running(STARTING_WAIT_MS_MAX)).toBe(0);
  });

  it("P8: tells nothing else, and not to pages or where a token may be needed", async () => {
    const { early, clock, url } = await starting();
    const asked = [
      fetch(`${url}/health?deep`),
      fetch(`${url}/health`, { method: "HEAD" }),
      fetch(`${url}/health`, { headers: { origin: "https://page.example" } }),
      fetch(`${url}/capabilities`),
    ];
    await waiting(clock, 4);
    await serve([], {}, { early });
    const answers = await Promise.all(asked);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 403, 404]);
    const guarded = await starting({ token: "a-token-of-the-operator", requireAuth: true });
    const late = fetch(`${guarded.url}/health`);
    await waiting(guarded.clock, 1);
    await serve([], { token: "a-token-of-the-operator", requireAuth: true }, guarded);
    expect((await late).status).toBe(401);
  });

  it("P10: lets so many wait, and so long, and tells all others to come again", async () => {
    const { clock, url } = await starting({ maxConnections: 0 });
    const asked = Array.from({ length: STARTING_REQUESTS_MAX }, (_, n) => post(url, n));
    await waiting(clock, STARTING_REQUESTS_MAX);
    const excess = await post(url, -1);
    expect(excess.status).toBe(503);
    expect(await excess.json()).toMatchObject({ code: "server_starting" });
    expect(Number(excess.headers.get("retry-after"))).toBeGreaterThan(0);
    clock.advance(STARTING_WAIT_MS_MAX);
    const late = await Promise.all(asked);
    expect(new Set(late.map(({ status }) => status))).toEqual(new Set([503]));
  });

  it("P10: forgets who has gone meanwhile", async () => {
    const { clock, url } = await starting();
    const gone = new AbortController();
    const asked = fetch(`${url}/capabilities`, { signal: gone.signal }).catch(() => "gone");
    await waiting(clock, 1);
    gone.abort();
    expect(await asked).toBe("gone");
    await waiting(clock, 0);
  });

  it("tells those who wait to come again if it does not come up", async () => {
    const { early, clock, url } = await starting();
    const asked = post(url, 1);
    await waiting(clock, 1);
    const closed = early.close();
    expect((await asked).status).toBe(503);
    await closed;
  });
});

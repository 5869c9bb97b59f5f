import { afterEach, describe, expect, it } from "vitest";
import { ATTEMPTS_FAILED_MAX } from "../../core/limits.ts";
import { bodyOf, closeServers, mirror, serve } from "./server.fixture.ts";

afterEach(closeServers);

const TOKEN = "correct-horse-battery";
const ROUTES = [mirror({ path: "/mirror" })];

function from(address: string, token = TOKEN) {
  return { "x-forwarded-for": address, authorization: `Bearer ${token}` };
}

describe("a server behind a proxy on its own machine", () => {
  it("lets one who guesses tokens wait, and not the others behind the proxy", async () => {
    const world = await serve(ROUTES, { token: TOKEN, trustedProxies: ["127.0.0.1"] });
    for (let tries = 0; tries < ATTEMPTS_FAILED_MAX; tries += 1) {
      const guessed = await world.post("/mirror", {}, from("192.0.2.7", `guess-${tries}`));
      expect(guessed.status).toBe(401);
    }
    expect((await world.post("/mirror", {}, from("192.0.2.7"))).status).toBe(429);
    expect((await world.post("/mirror", {}, from("192.0.2.8"))).status).toBe(200);
  });

  it("counts the rates of each address behind it", async () => {
    const rateLimit = { mutation: 1 };
    const world = await serve(ROUTES, { token: TOKEN, trustedProxies: ["127.0.0.1"], rateLimit });
    const statusOf = async (address: string) => {
      return (await world.post("/mirror", {}, from(address))).status;
    };
    expect(await statusOf("192.0.2.7")).toBe(200);
    expect(await statusOf("192.0.2.7")).toBe(429);
    expect(await statusOf("192.0.2.8")).toBe(200);
  });

  it.each([
    ["named", ["127.0.0.1"]],
    ["forgotten", []],
  ])("takes nobody behind it for somebody of this machine, be it %s", async (_, trustedProxies) => {
    const world = await serve(ROUTES, { token: TOKEN, trustedProxies });
    const asked = await world.post("/mirror", {}, from("127.0.0.1"));
    expect(bodyOf(asked)).toMatchObject({ isLoopbackPeer: false });
  });
});

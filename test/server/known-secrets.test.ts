// What the guard of a real server knows before the first request, and learns while it runs.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KeyedServer } from "./keyed.fixture.ts";

const OF_ALL = "key-of-every-tenant-4711";
const OF_ANOTHER_AGENT = "key-of-an-agent-that-never-runs";
const OF_BEN = "key-of-ben-who-is-never-here";

let keyed: KeyedServer;
beforeAll(async () => {
  const env = { UNUSED_KEY: OF_ANOTHER_AGENT };
  keyed = await KeyedServer.start({ MODEL_KEY: OF_ALL, "acme/ben/KEY": OF_BEN }, { env });
}, 60_000);
afterAll(() => keyed.end(), 60_000);

function stored(text: string): boolean {
  const entries = readdirSync(keyed.server.data, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.some(({ parentPath, name }) => readFileSync(join(parentPath, name)).includes(text));
}

describe("the guard of a server", { timeout: 60_000 }, () => {
  it("P11: knows the secrets of all agents and users before the first request", async () => {
    const ada = await keyed.user("acme", "ada");
    const session = await ada.session();
    await keyed.server.kill("SIGTERM");
    await keyed.server.restart();
    const secrets = [OF_ALL, OF_ANOTHER_AGENT, OF_BEN];
    await ada.said(session, `remember ${secrets.join(" ")}`);
    expect(secrets.filter(stored)).toEqual([]);
  });

  it("P11: keeps them out of the title that comes from the first prompt", async () => {
    const ada = await keyed.user("acme", "ada");
    const titleOf = async (text: string) => {
      const session = await ada.session();
      await ada.said(session, text);
      const { body } = await ada.ask("GET", `${session}/status`);
      return String(body.displayName);
    };
    expect(await titleOf(`deploy with ${OF_ALL} now`)).toBe("deploy with [redacted] now");
    // A title is cut at 80 characters, and half of a key is not left standing there.
    const cut = await titleOf(`${"x".repeat(66)} ${OF_ALL} now`);
    expect(cut.slice(66)).not.toContain(OF_ALL.slice(0, 4));
    expect(stored(OF_ALL.slice(0, 13))).toBe(false);
  });

  it("P11: learns of a secret that comes while it runs, before any agent uses it", async () => {
    const ada = await keyed.user("acme", "ada");
    const session = await ada.session();
    keyed.put("acme/cy/KEY", "key-that-came-later-0815");
    let count = 0;
    const named = async () => {
      count += 1;
      const displayName = `${count} key-that-came-later-0815`;
      return (await ada.ask("PATCH", `${session}/metadata`, { displayName })).body.displayName;
    };
    await expect.poll(named, { timeout: 30_000 }).toContain("[redacted]");
  });

  it("P8: the homes of a tenant go when it is deleted", async () => {
    const eve = await keyed.user("gone", "eve");
    const { home } = await eve.agent();
    expect(existsSync(home)).toBe(true);
    expect((await eve.ask("DELETE", "/tenant", { confirm: "gone" })).status).toBe(204);
    await expect.poll(() => existsSync(join(keyed.homes, "gone"))).toBe(false);
    expect(existsSync(join(keyed.homes, "acme"))).toBe(true);
  });
});

describe("a server without tokens", { timeout: 60_000 }, () => {
  it("has keys from its folder, and agents in the server's own home as before", async () => {
    const alone = await KeyedServer.start({ "local/MODEL_KEY": OF_ALL }, { token: false });
    try {
      const { home } = await alone.local.agent();
      expect(home).toBe("");
      expect(readdirSync(alone.homes)).toEqual([]);
    } finally {
      await alone.end();
    }
  });
});

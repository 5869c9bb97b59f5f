import { describe, expect, it } from "vitest";
import { profileOf } from "../profile/profile.ts";
import { environmentOf, inheritedEnvironment } from "./environment.ts";
import { firstLine, World } from "./world.fixture.ts";

const PLAIN = profileOf({ name: "test", command: "agent" });

/** A server's environment, with what agents get and what they must not get. */
const SERVER = {
  PATH: "/bin",
  HOME: "/home/me",
  LC_TIME: "C",
  XDG_CONFIG_HOME: "/home/me/.config",
  https_proxy: "http://me:proxy%20password@proxy:3128",
  NODE_EXTRA_CA_CERTS: "/etc/ca.pem",
  FERMATA_AGENT_MARK: "of the agent that started this server",
  FERMATA_TOKEN: "the-server's-own-token",
  DATABASE_URL: "postgres://me:database-password@db/fermata",
  NODE_OPTIONS: "--inspect",
  SSH_AUTH_SOCK: "/tmp/ssh",
  OPENAI_API_KEY: "sk-0123456789",
  OPENAI_BASE_URL: "https://models.example",
};

describe("P11: the environment of an agent", () => {
  it("has nothing of the server's but the short list, and the mark", () => {
    expect(environmentOf(PLAIN, SERVER, "m").env).toEqual({
      PATH: "/bin",
      HOME: "/home/me",
      LC_TIME: "C",
      XDG_CONFIG_HOME: "/home/me/.config",
      https_proxy: "http://me:proxy%20password@proxy:3128",
      NODE_EXTRA_CA_CERTS: "/etc/ca.pem",
      FERMATA_AGENT_MARK: "m",
    });
  });

  it("P8: is that of a login for another user, unless the profile says more", () => {
    const account = {
      ...{ name: "agents", uid: 7, gid: 7, home: "/home/agents", shell: "/bin/bash" },
      launcher: [],
    };
    const server = { ...SERVER, USER: "me", TMPDIR: "/home/me/tmp", SHELL: "/bin/zsh" };
    const { env } = environmentOf({ ...PLAIN, account }, server, "m");
    const login = { HOME: "/home/agents", USER: "agents", LOGNAME: "agents", SHELL: "/bin/bash" };
    expect(env).toMatchObject({ ...login, PATH: "/bin", LC_TIME: "C" });
    expect(Object.keys(env)).not.toContain("XDG_CONFIG_HOME");
    expect(Object.keys(env)).not.toContain("TMPDIR");
    expect(inheritedEnvironment(server, account)).toMatchObject(login);
    const named = { ...PLAIN, account, inherit: ["TMPDIR"], env: { HOME: "/srv/home" } };
    expect(environmentOf(named, server, "m").env).toMatchObject({
      HOME: "/srv/home",
      TMPDIR: "/home/me/tmp",
    });
  });

  it("has what the profile inherits, if it is there", () => {
    const inherit = ["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"];
    const { env, secrets, missing } = environmentOf({ ...PLAIN, inherit }, SERVER, "m");
    expect(env).toMatchObject({ OPENAI_API_KEY: "sk-0123456789" });
    expect(env).not.toHaveProperty("OPENAI_MODEL");
    expect(missing).toEqual([]);
    expect(secrets).toContain("sk-0123456789");
    expect(secrets).not.toContain("https://models.example");
  });

  it("has the keys and home of the session's user in place of the server's", () => {
    const inherit = ["OPENAI_API_KEY", "OPENAI_BASE_URL"];
    const env = { MINE: { secret: "MINE" }, EXTRA: { secret: "EXTRA", optional: true } };
    const secrets = new Map([
      ["OPENAI_API_KEY", "key-of-ada"],
      ["MINE", "mine-of-ada"],
    ]);
    const home = { variable: "HOME", path: "/homes/ada" };
    const credentials = { secrets, home, digest: "" };
    const found = environmentOf({ ...PLAIN, inherit, env }, SERVER, "m", credentials);
    const keys = { OPENAI_API_KEY: "key-of-ada", MINE: "mine-of-ada", HOME: "/homes/ada" };
    expect(found.env).toMatchObject({ ...keys, OPENAI_BASE_URL: "https://models.example" });
    expect(found.env).not.toHaveProperty("XDG_CONFIG_HOME");
    expect(found.env).not.toHaveProperty("EXTRA");
    expect(found.secrets).toEqual(expect.arrayContaining(["key-of-ada", "mine-of-ada"]));
    expect(found.missing).toEqual([]);
  });

  it("has values as they are, and those that are referred to", () => {
    const own = { MODE: "fast", KEY: { from: "OPENAI_API_KEY" }, PATH: "/opt/bin" };
    const { env, secrets } = environmentOf({ ...PLAIN, env: own }, SERVER, "m");
    expect(env).toMatchObject({ MODE: "fast", KEY: "sk-0123456789", PATH: "/opt/bin" });
    expect(env).not.toHaveProperty("OPENAI_API_KEY");
    expect(secrets).toContain("sk-0123456789");
    expect(secrets).not.toContain("fast");
  });

  it("leaves out what it refers to in vain, and says so", () => {
    const own = { KEY: { from: "NOWHERE" }, ODD: { from: "constructor" }, HOME: { from: "NO" } };
    const { env, missing } = environmentOf({ ...PLAIN, env: own }, SERVER, "m");
    expect(missing).toEqual(["NOWHERE", "constructor", "NO"]);
    expect(env).not.toHaveProperty("KEY");
    expect(env).not.toHaveProperty("HOME");
  });

  it("carries its mark, whatever the profile says", () => {
    const own = { FERMATA_AGENT_MARK: "forged" };
    const { env } = environmentOf({ ...PLAIN, env: own }, SERVER, "m");
    expect(env.FERMATA_AGENT_MARK).toBe("m");
  });

  it("counts a password inside a proxy's address as a secret, in both spellings", () => {
    const { secrets } = environmentOf(PLAIN, SERVER, "m");
    expect(secrets).toEqual(["proxy%20password", "proxy password"]);
  });

  it("takes no short value for a secret", () => {
    const own = { A: { from: "SHORT" } };
    expect(environmentOf({ ...PLAIN, env: own }, { SHORT: "1234567" }, "m").secrets).toEqual([]);
  });

  it("is what the process really gets", async () => {
    const world = new World();
    const agent = await world.started(world.profile("environment"), {
      ...SERVER,
      PATH: process.env.PATH,
      NODE_EXTRA_CA_CERTS: "",
    });
    const env = JSON.parse(await firstLine(agent));
    expect(Object.keys(env).toSorted()).toEqual([
      "FERMATA_AGENT_MARK",
      "FERMATA_TEST_WORLD",
      "HOME",
      "LC_TIME",
      "NODE_EXTRA_CA_CERTS",
      "PATH",
      "XDG_CONFIG_HOME",
      "https_proxy",
    ]);
    await agent.end();
  });
});

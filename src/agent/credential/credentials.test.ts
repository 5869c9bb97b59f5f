import { chmodSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sentenceOf } from "../../core/error.ts";
import { type AgentProfile, profileOf } from "../profile/profile.ts";
import { AgentHomes } from "./agent-homes.ts";
import { holder, SecretFolder } from "./credential.fixture.ts";
import { type AgentCredentials, Credentials } from "./credentials.ts";

const ADA = holder("acme", "ada");
const BEN = holder("acme", "ben");

const MINE = profileOf({
  name: "mine",
  command: "agent",
  env: { AGENT_KEY: { secret: "KEY" }, EXTRA: { secret: "EXTRA", optional: true } },
  inherit: ["OPENAI_API_KEY", "OPENAI_BASE_URL"],
  home: "AGENT_HOME",
});

/** Credentials of a folder of secrets, with homes beside it. */
function opened(files: Readonly<Record<string, string>>, env: NodeJS.ProcessEnv = {}) {
  const folder = new SecretFolder(files);
  const homes = new SecretFolder();
  const credentials = new Credentials({
    files: folder.files,
    homes: new AgentHomes(homes.root),
    env,
  });
  const of = async (profile: AgentProfile, who = ADA): Promise<AgentCredentials> => {
    const found = await credentials.of(profile, who);
    return found.ok ? found.value : expect.fail(sentenceOf(found.refusal));
  };
  const refused = async (profile: AgentProfile, who = ADA) => {
    const found = await credentials.of(profile, who);
    return found.ok ? expect.fail("it was found") : found.refusal;
  };
  return { folder, homes, credentials, of, refused };
}

describe("the credentials of a user", () => {
  it("are the secrets that the profile names, from files or the environment", async () => {
    const files = { "acme/ada/KEY": "of-ada", "acme/OPENAI_API_KEY": "of-acme" };
    const { of } = opened({ ...files, "acme/OPENAI_BASE_URL": "no-secret" }, { EXTRA: "of-all" });
    const { secrets } = await of(MINE);
    expect([...secrets]).toEqual([
      ["KEY", "of-ada"],
      ["OPENAI_API_KEY", "of-acme"],
    ]);
  });

  it("P8: have the same digest exactly if keys and home are the same", async () => {
    const files = { "acme/KEY": "of-acme", "acme/ben/KEY": "of-acme", "acme/cy/KEY": "of-cy" };
    const { of } = opened(files);
    const homeless = { ...MINE, home: null };
    const [ada, ben] = [await of(homeless), await of(homeless, BEN)];
    expect(ben.digest).toBe(ada.digest);
    expect((await of(homeless, holder("acme", "cy"))).digest).not.toBe(ada.digest);
    expect((await of(MINE)).digest).not.toBe((await of(MINE, BEN)).digest);
    expect((await of(MINE)).digest).toBe((await of(MINE)).digest);
    expect((await opened(files).of(homeless)).digest).not.toBe(ada.digest);
    expect((await of(profileOf({ name: "plain", command: "agent" }))).digest).toBe("");
  });

  it("are refused without a required secret, with where it was looked for", async () => {
    const { refused, credentials } = opened({ "acme/ben/KEY": "of-ben" }, { KEY: "" });
    const refusal = await refused(MINE);
    expect(refusal.code).toBe("agent_secret_missing");
    expect(sentenceOf(refusal)).toBe(
      'Agent "mine" needs the secret "KEY", which an operator has to add to --secrets-dir ' +
        "(acme/ada/KEY, acme/KEY, KEY) or to the server's environment (KEY).",
    );
    expect(await credentials.report(MINE, ADA)).toMatchObject([
      { name: "KEY", variable: "AGENT_KEY", place: null, isRequired: true },
      { name: "EXTRA", place: null, isRequired: false },
      { name: "OPENAI_API_KEY", place: null, isRequired: false },
    ]);
  });

  it("P8: are refused to an agent of another user where all users may read the file", async () => {
    const { folder, refused, of, credentials } = opened({ "acme/KEY": "of-acme" });
    chmodSync(folder.at("acme/KEY"), 0o644);
    expect((await of({ ...MINE, home: null })).secrets.get("KEY")).toBe("of-acme");
    const refusal = await refused({ ...MINE, home: null, uid: 12_345 });
    expect(refusal.code).toBe("agent_secret_unusable");
    expect(sentenceOf(refusal)).toMatch(/every user of the machine may read it.*chmod o-r/);
    const [report] = await credentials.report(MINE, ADA);
    expect(report).toMatchObject({ fault: null, note: "every user of the machine may read it" });
    expect(JSON.stringify(report)).not.toContain("of-acme");
  });
});

describe("the keys of a file that the agents' user may read", () => {
  const uid = process.getuid?.() ?? 0;
  const gid = process.getgid?.() ?? 0;

  it.each([
    ["by its group", { uid: 65_534, gid }, 0o640],
    ["as its owner", { uid, gid: 65_533 }, 0o600],
  ])("P8: are refused to its agents, though closed to others: %s", async (_, ids, mode) => {
    const { folder, refused, of } = opened({ "acme/KEY": "of-acme" });
    chmodSync(folder.at("acme/KEY"), mode);
    const stranger = { ...MINE, home: null, uid: 65_534, gid: 65_533 };
    expect((await of(stranger)).secrets.get("KEY")).toBe("of-acme");
    const refusal = await refused({ ...stranger, ...ids });
    expect(refusal.code).toBe("agent_secret_unusable");
    expect(sentenceOf(refusal)).toMatch(/the user of this agent may read it.*chmod o-r/);
  });
});

describe("the homes of agents", () => {
  it("are folders of tenant, user and agent that only their owner enters", async () => {
    const { of, homes } = opened({ KEY: "of-all-users" });
    const { home } = await of(MINE, holder("Acme", "Ada"));
    expect(home).toEqual({ variable: "AGENT_HOME", path: homes.at("acme+8/ada+8/mine") });
    expect(statSync(homes.at("acme+8/ada+8/mine")).mode & 0o777).toBe(0o700);
    expect(statSync(homes.at("acme+8")).mode & 0o777).toBe(0o711);
    expect((await of(MINE, holder("acme", null))).home?.path).toBe(homes.at("acme/+tenant/mine"));
  });

  it("stay as they are, but for rights that others have", async () => {
    const { of, homes } = opened({ KEY: "of-all-users" });
    mkdirSync(homes.at("acme/ada/mine"), { recursive: true, mode: 0o755 });
    chmodSync(homes.at("acme/ada/mine"), 0o755);
    writeFileSync(homes.at("acme/ada/mine/login"), "kept");
    const path = (await of(MINE)).home?.path ?? expect.fail();
    expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(statSync(join(path, "login")).size).toBe(4);
  });

  it("are refused where something else has the name", async () => {
    const { refused, homes } = opened({ KEY: "of-all-users" });
    mkdirSync(homes.at("acme/ada"), { recursive: true });
    writeFileSync(homes.at("acme/ada/mine"), "a file");
    const refusal = await refused(MINE);
    expect(refusal).toMatchObject({ code: "agent_home_unusable" });
    expect(sentenceOf(refusal)).toContain("it is not a folder");
  });

  it("P8: go with their tenant, and with no other", async () => {
    const { of, homes, credentials } = opened({ KEY: "of-all-users" });
    await of(MINE);
    await of(MINE, holder("other", "ada"));
    await credentials.forget(ADA.tenantId);
    expect(() => statSync(homes.at("acme"))).toThrow();
    expect(statSync(homes.at("other/ada/mine")).isDirectory()).toBe(true);
  });
});

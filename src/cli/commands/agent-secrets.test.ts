import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { profileOf } from "../../agent/profile/profile.ts";
import { missingSecrets, readAgentsQuery, secretLines } from "./agent-secrets.ts";

const PROFILE = profileOf({
  name: "mine",
  command: "agent",
  env: { AGENT_KEY: { secret: "MODEL_KEY" } },
  inherit: ["OPENAI_API_KEY", "GH_TOKEN"],
});

/** A folder of secrets, and a query about it. */
function world() {
  const folder = mkdtempSync(join(tmpdir(), "fermata-agent-secrets-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const env = { FERMATA_HOME: join(folder, "home"), OPENAI_API_KEY: "sk-of-the-server" };
  const put = (path: string, value: string) => {
    mkdirSync(join(folder, "secrets", path, ".."), { recursive: true });
    writeFileSync(join(folder, "secrets", path), value, { mode: 0o600 });
  };
  const query = async (args: readonly string[], more: NodeJS.ProcessEnv = {}) => {
    const read = await readAgentsQuery(args, { ...env, ...more });
    return typeof read === "string" ? expect.fail(read) : read;
  };
  return { folder, secrets: join(folder, "secrets"), put, query, env };
}

describe("fermata agents", () => {
  it("P11: tells where the secrets of a user are, and never what they are", async () => {
    const { put, query, secrets } = world();
    put("acme/ada/MODEL_KEY", "key-of-ada-4711");
    const whose = ["mine", "--secrets-dir", secrets, "--tenant", "acme", "--user", "ada"];
    const lines = await secretLines(PROFILE, await query(whose));
    expect(lines).toEqual([
      "MODEL_KEY (as AGENT_KEY): found in acme/ada/MODEL_KEY of --secrets-dir",
      "OPENAI_API_KEY: found in the environment",
      "not set, and not required: GH_TOKEN",
    ]);
  });

  it("looks where a server with the same variables would, for the tenant local", async () => {
    const { put, query, secrets } = world();
    put("local/MODEL_KEY", "");
    const about = await query(["mine"], { FERMATA_SECRETS_DIR: secrets });
    expect(await secretLines(PROFILE, about)).toContain(
      "MODEL_KEY (as AGENT_KEY): unusable in local/MODEL_KEY of --secrets-dir: it is empty",
    );
    expect(await missingSecrets(PROFILE, about)).toEqual(["MODEL_KEY"]);
  });

  it("names what an agent needs and has not", async () => {
    const { query } = world();
    const about = await query(["mine"]);
    expect(await secretLines(PROFILE, about)).toContain("MODEL_KEY (as AGENT_KEY): missing");
    expect(await missingSecrets(PROFILE, about)).toEqual(["MODEL_KEY"]);
    expect(await secretLines({ ...PROFILE, env: {}, inherit: [] }, about)).toEqual([]);
  });

  it.each([
    [["one", "two"], "expected one name"],
    [["--tenant", ".."], '".." is not a tenant\'s id'],
    [["--user", "a/b"], '"a/b" is not a user\'s id'],
    [["--bogus"], "there is no option --bogus"],
  ])("refuses %j", async (args, reason) => {
    expect(await readAgentsQuery(args, world().env)).toBe(reason);
  });

  it.each([
    [["--sign-in"], "--sign-in needs the name of an agent"],
    [["echo", "--method", "x"], "--method is for --sign-in"],
    [["echo", "--agent-home", "/x"], /--agent-user, which is missing/],
    [["echo", "--agent-user", "no-such-user"], /no-such-user/],
  ])("says what is wrong with %j", async (args, reason) => {
    const said = await readAgentsQuery(args, world().env);
    expect(said).toEqual(expect.stringMatching(reason));
  });

  it("takes what the agent has of a server from options and variables", async () => {
    const { query } = world();
    const about = await query(["mine", "--agent-env", "A", "--agent-env", "B", "--sign-in"]);
    expect(about).toMatchObject({ inherit: ["A", "B"], isSignIn: true, method: null });
    expect(await query(["mine"], { FERMATA_AGENT_ENV: "C" })).toMatchObject({ inherit: ["C"] });
  });

  it("has the home of a user only where one is named", async () => {
    const { query, folder } = world();
    const profile = { ...PROFILE, env: {}, home: "MY_HOME" };
    const homes = ["mine", "--agent-homes", folder];
    const [none, ada] = [await query(homes), await query([...homes, "--user", "ada"])];
    expect(await none.credentials.of(profile, none.holder)).toMatchObject({
      value: { home: null },
    });
    expect(await ada.credentials.of(profile, ada.holder)).toMatchObject({
      value: { home: { variable: "MY_HOME", path: join(folder, "local", "ada", "mine") } },
    });
  });
});

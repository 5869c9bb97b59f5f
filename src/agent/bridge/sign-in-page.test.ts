import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { sentenceOf } from "../../core/error.ts";
import { parseUserId } from "../../core/id.ts";
import { AGENT_CALL_MS_MAX, AGENT_SIGN_IN_MS_MAX } from "../../core/limits.ts";
import { AgentConnection } from "../connection.ts";
import { AgentHomes } from "../credential/agent-homes.ts";
import { SecretFolder } from "../credential/credential.fixture.ts";
import { Credentials } from "../credential/credentials.ts";
import { DEFAULT_LIMITS } from "../profile/profile.ts";
import { StillTime } from "../still-time.fixture.ts";
import { codeOf, Stage } from "./bridge.fixture.ts";

const AGENT = fileURLToPath(new URL("keeping-agent.fixture.ts", import.meta.url));

function signingIn(stage: Stage, ...features: readonly string[]): string {
  const change = { auth: [{ method: "page", ifSet: [] }], inherit: ["PAGE_KEY"] };
  return stage.command(process.execPath, [AGENT, "sign-in", ...features], change);
}

const user = (name: string) => parseUserId(name) ?? expect.fail(name);

/** How often the agent was called so. */
function calls({ folder }: Stage, method: string): number {
  const file = join(folder, "calls.jsonl");
  if (!existsSync(file)) return 0;
  return readFileSync(file, "utf8").split(`"method":"${method}"`).length - 1;
}

describe("an agent that wants a page opened before it makes a session", () => {
  it("has it told to the client that wants the session, and goes on when it was used", async () => {
    const stage = new Stage();
    const time = new StillTime();
    const profile = signingIn(stage);
    const refused = await stage.refused(profile);
    expect(refused).toMatchObject({
      code: "agent_auth_required",
      details: { url: "https://login.example/device" },
    });
    expect(sentenceOf(refused)).toContain(
      "Enter the code ABCD. Open https://login.example/device and then try again",
    );
    // Longer than a call may take, and than an unused process is kept: people are slow.
    await time.pass(Math.max(AGENT_CALL_MS_MAX, DEFAULT_LIMITS.idleMs) + 60_000);
    expect((await stage.refused(profile)).details.url).toBe("https://login.example/device");
    expect([stage.starts, calls(stage, "authenticate")]).toEqual([1, 1]);
    writeFileSync(join(stage.folder, "signed-in"), "");
    await expect.poll(async () => codeOf(await stage.connect(profile))).toBe("ok");
    expect([stage.starts, calls(stage, "authenticate")]).toEqual([1, 1]);
  });

  it("P10: may show another page, and has one limit for all of them", async () => {
    const limits = vi.spyOn(AgentConnection.prototype, "limitAnew");
    onTestFinished(() => limits.mockRestore());
    const stage = new Stage();
    const profile = signingIn(stage, "again");
    const url = async () => (await stage.refused(profile)).details.url;
    await expect.poll(url).toBe("https://login.example/device/again");
    const [first = 0, second = 0] = limits.mock.calls.map(([, limit]) => Number(limit));
    // What is left of a time is a difference of fractions.
    expect(first).toBeCloseTo(AGENT_SIGN_IN_MS_MAX);
    expect(second).toBeLessThan(first);
    expect(stage.starts).toBe(1);
  });

  it("P11: tells clients no secret of the agent, and nothing that a terminal obeys", async () => {
    const stage = new Stage();
    stage.env.PAGE_KEY = "a secret/for-the-page";
    const refused = await stage.refused(signingIn(stage, "secret"));
    expect(refused.details.url).toBe("https://login.example/device");
    expect(JSON.stringify(refused)).not.toContain(stage.env.PAGE_KEY);
    expect(sentenceOf(refused)).toMatch(/Enter \[31m ABCD /);
    const inUrl = await stage.refused(signingIn(stage, "secret-url"));
    expect(inUrl.details.url).toBeUndefined();
    expect(sentenceOf(inUrl)).toContain("nobody opened the page");
  });

  it("P8: tells it to no user who shares its home: they would sign in for all", async () => {
    const stage = new Stage();
    const profile = signingIn(stage);
    const ann = { userId: user("ann") };
    const withheld = await stage.refused(profile, ann);
    expect(withheld.details.url).toBeUndefined();
    expect(sentenceOf(withheld)).toContain(
      'by "page" failed: it wants a page opened, which is for',
    );
    expect((await stage.refused(profile)).details.url).toBe("https://login.example/device");
    const waits = await stage.refused(profile, ann);
    expect(JSON.stringify(waits)).not.toMatch(/login\.example|ABCD/);
    expect(sentenceOf(waits)).toContain("It says: the operator is signing it in. Try again later.");
    writeFileSync(join(stage.folder, "signed-in"), "");
    await expect.poll(async () => codeOf(await stage.connect(profile, ann))).toBe("ok");
  });

  it("has it told to a user who has a home of their own", async () => {
    const stage = new Stage();
    const homes = new AgentHomes(new SecretFolder().root);
    stage.credentials = new Credentials({ files: null, homes, env: {} });
    const profile = signingIn(stage);
    const own = stage.profiles.get(profile) ?? expect.fail();
    stage.profiles.set(profile, { ...own, home: "KEEPING_HOME" });
    const refused = await stage.refused(profile, { userId: user("ann") });
    expect(refused.details.url).toBe("https://login.example/device");
  });

  it("is refused an address that is none", async () => {
    const stage = new Stage();
    const refused = await stage.refused(signingIn(stage, "bad-url"));
    expect(refused.code).toBe("agent_auth_required");
    expect(refused.details.url).toBeUndefined();
    expect(sentenceOf(refused)).toContain("nobody opened the page");
  });

  it("has a form declined at once, for which there is no client, and that is logged", async () => {
    const stage = new Stage();
    expect((await stage.refused(signingIn(stage, "form"))).code).toBe("agent_auth_required");
    expect(stage.faults).toContainEqual({ kind: "declined_elicitation", count: 1 });
  });
});

describe("an agent that wants a page opened in a session", () => {
  const page = { mode: "url", elicitationId: "e1", message: "Sign in.", url: "https://a.example/" };

  it("asks in a turn, and its ask ends when the page is done with", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    const wanted = JSON.stringify({ ...page, sessionId: hand.session.agentSessionId });
    const { text } = await hand.turn(`call elicitation/create ${wanted}`);
    expect(text).toContain('{"action":"accept"}');
    expect(hand.ears.asks).toHaveLength(1);
    const { ears } = hand;
    ears.answer = (_, signal) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve({ outcome: { outcome: "cancelled" } }));
      });
    const other = await stage.connected("echo");
    const turn = hand.begin(`call elicitation/create ${wanted}`);
    await ears.until(() => ears.asks.length === 2);
    await other.turn('notify elicitation/complete {"elicitationId":"e1"}');
    await hand.verdict(turn);
    expect(ears.text).toContain('{"action":"accept"}');
    expect(stage.starts).toBe(1);
  });
});

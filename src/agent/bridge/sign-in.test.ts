import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { errorBody } from "../../core/error.ts";
import { AGENT_SIGN_INS_MAX, SIGN_IN_ADVICE_CHARS_MAX } from "../../core/limits.ts";
import { KNOWN_PROFILES } from "../profile/known.ts";
import { type AgentProfile, DEFAULT_LIMITS, profileOf } from "../profile/profile.ts";
import { Stage } from "./bridge.fixture.ts";
import { commandText, readSignIns, signInRequired, usableMethods } from "./sign-in.ts";

const AGENT = fileURLToPath(new URL("sign-in-agent.fixture.ts", import.meta.url));

/** Its profile tries the first key and then the second. */
const KEYS: Partial<AgentProfile> = {
  auth: [
    { method: "first", ifSet: ["FIRST_KEY"] },
    { method: "second", ifSet: ["SECOND_KEY", "THIRD_KEY"] },
  ],
  inherit: ["FIRST_KEY", "SECOND_KEY"],
};

class SignInStage extends Stage {
  agent(how: string, change: Partial<AgentProfile> = {}): string {
    return this.command(process.execPath, [AGENT, how], change);
  }

  /** What the agent was called with, without `initialize`. */
  get calls(): readonly string[] {
    const lines = readFileSync(join(this.folder, "calls"), "utf8").split("\n");
    return lines.map((line) => line.trim()).filter((line) => line !== "" && line !== "initialize");
  }

  async sentence(profile: string): Promise<string> {
    const refusal = await this.refused(profile);
    expect(refusal.code).toBe("agent_auth_required");
    return String(errorBody(refusal).error);
  }
}

describe("an agent that wants a sign-in", () => {
  it("is Codex: by a key that is set, else by a code on a page", () => {
    const profile = KNOWN_PROFILES.find(({ name }) => name === "codex") ?? expect.fail();
    const ids = ["api-key", "chat-gpt", "chat-gpt-device-code"];
    const offered = readSignIns(ids.map((id) => ({ id, name: id })));
    const methods = (...variables: readonly string[]) => {
      const redacted = (text: string) => text;
      const need = { profile, offered, holderOptions: "", maySignIn: true, redacted };
      return usableMethods({ ...need, variables: new Set(variables) });
    };
    expect(methods()).toEqual(["chat-gpt-device-code"]);
    expect(methods("OPENAI_API_KEY")).toEqual(["api-key", "chat-gpt-device-code"]);
  });

  it("is signed in to by each method that has its key, in order", async () => {
    const stage = new SignInStage();
    stage.env.FIRST_KEY = "a-first-key";
    stage.env.SECOND_KEY = "a-second-key";
    await stage.connected(stage.agent("ways", KEYS));
    expect(stage.calls).toEqual([
      "session/new",
      ...["authenticate first", "authenticate second"],
      "session/new",
    ]);
  });

  it("is not asked for methods without a key, and says which are missing", async () => {
    const stage = new SignInStage();
    const said = await stage.sentence(stage.agent("ways", { ...KEYS, signIn: "Ask Ann" }));
    expect(stage.calls).toEqual(["session/new"]);
    expect(said).toBe(
      'Agent "other" asks for a sign-in. It says: Please run `agent login` from your terminal. ' +
        'Not set for the server: "first" needs FIRST_KEY, "second" needs SECOND_KEY or THIRD_KEY.' +
        " Ask Ann. It offers: First key (first); Second key (second).",
    );
  });

  it("tells what came of each method, when none was enough", async () => {
    const stage = new SignInStage();
    stage.env.FIRST_KEY = "a-first-key";
    expect(await stage.sentence(stage.agent("ways", KEYS))).toContain(
      'Signing in by "first" failed: The first key expired.',
    );
  });

  it("P10: asks for ever, and is given up after each method was tried once", async () => {
    const stage = new SignInStage();
    stage.env.FIRST_KEY = "a-first-key";
    stage.env.SECOND_KEY = "a-second-key";
    const said = await stage.sentence(stage.agent("never", KEYS));
    expect(said).toContain('It took "second", and asks all the same.');
    expect(stage.calls.filter((call) => call.startsWith("authenticate"))).toHaveLength(2);
  });

  it("P10: does not answer, and is given up at the limit of a call", async () => {
    const stage = new SignInStage();
    stage.env.FIRST_KEY = "a-first-key";
    stage.env.SECOND_KEY = "a-second-key";
    const limits = { ...DEFAULT_LIMITS, callMs: 200, startMs: 200 };
    const said = await stage.sentence(stage.agent("hangs", { ...KEYS, limits }));
    expect(said).toMatch(/Signing in by "first" failed: .*authenticate.* \d+ ms/);
    expect(stage.calls).toEqual(["session/new", "authenticate first"]);
  });

  it("is signed in to by a variable that it names, if the profile passes that on", async () => {
    const stage = new SignInStage();
    stage.env.ECHO_KEY = "a-key-for-echo";
    const without = await stage.sentence(stage.agent("by-variable"));
    expect(without).toContain(
      'needs ECHO_KEY (passed on by --agent-env ECHO_KEY, or "inherit" of its profile)',
    );
    expect(without).not.toContain("javascript");
    await stage.connected(stage.agent("by-variable", { inherit: ["ECHO_KEY"] }));
    expect(stage.calls.slice(-2)).toEqual(["authenticate env", "session/new"]);
  });

  it("offers a terminal: that is none for authenticate, and the command is told", async () => {
    const stage = new SignInStage();
    const auth = [{ method: "login", ifSet: [] }];
    const refusal = await stage.refused(stage.agent("terminal", { auth }));
    expect(stage.calls).toEqual(["session/new"]);
    const { error, signIns } = errorBody(refusal);
    expect(error).toContain("this signs in: fermata agents other --sign-in");
    expect(error).toContain("Log in (login), With [2J an account; Older (older), see https://keys");
    expect(signIns).toMatchObject({
      login: { command: `${process.execPath} ${AGENT} terminal login` },
      older: { command: `'/opt/my agent' 'it'\\''s' login`, link: "https://keys.example/new" },
    });
  });

  it("says in its own words why, where it offers nothing", async () => {
    const stage = new SignInStage();
    const said = await stage.sentence(stage.agent("silent"));
    expect(said).toContain("It says: Please run `agent login` from your terminal.");
    expect(said).toContain("or set its key for the server");
  });

  it("gets a new process for the next session, which may find the log-in", async () => {
    const stage = new SignInStage();
    const profile = stage.agent("silent");
    await stage.refused(profile);
    await stage.refused(profile);
    expect(stage.starts).toBe(2);
  });

  it("P2: in mid-turn: the verdict says so at once, and what to do", async () => {
    const stage = new SignInStage();
    stage.env.FIRST_KEY = "a-first-key";
    const hand = await stage.connected(stage.agent("in-a-turn", KEYS));
    const { verdict } = await hand.turn("one");
    expect(verdict).toMatchObject({
      status: "turn_error",
      failure: { code: "agent_auth_required", errorKind: null },
    });
    expect(JSON.stringify(verdict)).toMatch(/It says: Please run .*It offers: First key/);
    expect(stage.calls).toEqual(["session/new", "session/prompt"]);
    // Closed, so that the next prompt goes to a process that may find the log-in.
    await hand.ears.until(() => hand.kinds.includes("terminated"));
    expect(hand.kinds.slice(-3)).toEqual(["turn_error", "terminating", "terminated"]);
  });
});

describe("P10: what an agent offers to sign in with", () => {
  it("is read within bounds, and without what cannot be used", () => {
    const many = Array.from({ length: 100 }, (_, n) => ({ id: `m${n}`, name: "x".repeat(9_999) }));
    const read = readSignIns(many);
    expect(read).toHaveLength(AGENT_SIGN_INS_MAX);
    const profile = profileOf({ name: "mine", command: "mine" });
    const redacted = (text: string) => text;
    const rest = { profile, offered: read, variables: new Set<string>(), holderOptions: "" };
    const { advice } = signInRequired({ ...rest, maySignIn: true, redacted }, "no").details;
    expect(String(advice).length).toBeLessThanOrEqual(SIGN_IN_ADVICE_CHARS_MAX);
    expect(readSignIns({})).toEqual([]);
    expect(readSignIns([null, 1, {}, { id: 7 }, { id: "x".repeat(9_999) }])).toEqual([]);
  });

  it.each(["file:///etc/passwd", "javascript:alert(1)", "not a link", "", 7])(
    "has no link that is none: %j",
    (link) => {
      expect(readSignIns([{ id: "a", link }])).toMatchObject([{ link: null, name: "a" }]);
    },
  );

  it("has a command only of texts", () => {
    const odd = { type: "terminal", args: ["ok", 7, "a\u0000b"], env: { A: "b", "no-name": "c" } };
    const [method] = readSignIns([{ id: "a", ...odd }]);
    const list = { command: "x", env: [{ name: "A", value: "b" }, { name: "B" }] };
    const [older] = readSignIns([{ id: "a", _meta: { "terminal-auth": list } }]);
    expect(method?.terminal).toEqual({ command: null, args: ["ok"], env: { A: "b" } });
    expect(older?.terminal).toEqual({ command: "x", args: [], env: { A: "b" } });
    const profile = profileOf({ name: "mine", command: "mine", args: ["--acp"] });
    expect(method?.terminal && commandText(profile, method.terminal)).toBe("mine --acp ok");
  });
});

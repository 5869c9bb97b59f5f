import { describe, expect, it } from "vitest";
import { AGENT_START_MS_MAX } from "../../core/limits.ts";
import { readProfiles } from "./read.ts";

/** What is refused in a profile with this one setting more. */
function refusal(setting: Readonly<Record<string, unknown>>): unknown {
  const read = readProfiles({ mine: { command: "agent", ...setting } });
  return read.ok ? null : read.refusal.details;
}

describe("own profiles", () => {
  it("need no more than a command", () => {
    const read = readProfiles({ mine: { command: "my-agent" } });
    expect(read.ok && [...read.value]).toEqual([
      [
        "mine",
        {
          name: "mine",
          title: "mine",
          command: "my-agent",
          args: [],
          env: {},
          inherit: [],
          cwd: null,
          user: null,
          uid: null,
          gid: null,
          account: null,
          limits: {
            startMs: AGENT_START_MS_MAX,
            callMs: 10_000,
            restoreMs: 60_000,
            sessionsPerProcess: 8,
            memoryBytes: 2_147_483_648,
            idleMs: 300_000,
          },
          auth: [],
          ask: { asks: "unknown", env: {}, args: [], mode: null, options: {}, unasked: null },
          withhold: [],
          resume: "auto",
          usage: "turn",
          models: {},
          mcp: "unknown",
          writes: "unknown",
          home: null,
          install: null,
          commandLine: null,
          signIn: null,
        },
      ],
    ]);
  });

  it("may say everything", () => {
    const mine = {
      title: "Mine",
      command: "/opt/my agent",
      args: ["--acp", ""],
      env: { MODE: "fast", OPENAI_API_KEY: { from: "MY_KEY" }, EMPTY_TOKEN: "" },
      inherit: ["SSH_AUTH_SOCK"],
      cwd: "/srv",
      uid: 1000,
      gid: 0,
      limits: {
        ...{ startMs: 1, callMs: 2, restoreMs: 3 },
        ...{ sessionsPerProcess: 1, memoryBytes: 1, idleMs: 0 },
      },
      auth: [{ method: "api-key", ifSet: ["MY_KEY"] }],
      ask: {
        ...{ env: { ASK: "1" }, args: ["--ask"], mode: "careful" },
        ...{ options: { asks: true, level: "all" }, unasked: "reading" },
      },
      withhold: ["fs.read", "terminal"],
      resume: "seed",
      usage: "session",
      models: { default: "gpt-5", env: { from: "MY_MODEL" } },
      mcp: "offered",
      writes: "server",
      home: "MY_HOME",
      install: "ask Ann",
      signIn: "ask Ben",
    };
    const read = readProfiles({ "my.agent-1_x": mine });
    expect(read.ok && read.value.get("my.agent-1_x")).toEqual({
      name: "my.agent-1_x",
      ...mine,
      commandLine: null,
      ...{ user: null, account: null },
      ask: { asks: "made_to", ...mine.ask },
    });
  });

  it.each([
    [{}, { auth: [], ask: { asks: "unknown" } }],
    [{ auth: "key" }, { auth: [{ method: "key", ifSet: [] }] }],
    [{ auth: [{ method: "key" }] }, { auth: [{ method: "key", ifSet: [] }] }],
    [{ ask: "default" }, { ask: { asks: "by_default", mode: null } }],
    [{ ask: { unasked: "reading" } }, { ask: { asks: "by_default", unasked: "reading" } }],
    [{ ask: { mode: "careful" } }, { ask: { asks: "made_to", mode: "careful" } }],
    [{ ask: { options: { asks: false } } }, { ask: { asks: "made_to", options: { asks: false } } }],
    [{ user: "agents" }, { user: "agents", uid: null, gid: null, account: null }],
    [{ withhold: ["terminal", "fs.read", "terminal"] }, { withhold: ["fs.read", "terminal"] }],
  ])("may say it shortly, or not at all: %j", (said, meant) => {
    const read = readProfiles({ mine: { command: "agent", ...said } });
    expect(read.ok && read.value.get("mine")).toMatchObject(meant);
  });

  it.each([[null], [[]], ["agent"], [7]])("are an object, not %j", (config) => {
    expect(readProfiles(config)).toMatchObject({ refusal: { code: "invalid_agent_profile" } });
    expect(readProfiles({ mine: config })).toMatchObject({
      refusal: { details: { path: "profile" } },
    });
  });

  it.each(["", "-a", "Agent", "a b", "a/b", "a\n", "__proto__", "a".repeat(65)])(
    "are not called %j",
    (name) => {
      const config = JSON.parse(`{${JSON.stringify(name)}: {"command": "agent"}}`);
      expect(readProfiles(config)).toMatchObject({ refusal: { details: { path: "name" } } });
    },
  );

  it.each([
    ["an unknown setting", { comand: "x" }, "comand", "no such"],
    ["an unknown limit", { limits: { startMS: 1 } }, "limits.startMS", "no such"],
    ["no command", { command: undefined }, "command", "missing"],
    ["an empty command", { command: "" }, "command", "empty"],
    ["a command relative to who knows what", { command: "./agent" }, "command", "absolute"],
    ["a NUL", { command: "a\0b" }, "command", "control"],
    ["a line end in an argument", { args: ["ok", "a\nb"] }, "args[1]", "control"],
    ["half a character", { args: ["\ud800"] }, "args[0]", "half"],
    ["an argument that is none", { args: [1] }, "args[0]", "text"],
    ["arguments in one text", { args: "--acp" }, "args", "list"],
    ["too many arguments", { args: Array(257).fill("") }, "args", "256"],
    ["too long a text", { title: "x".repeat(4_097) }, "title", "4096"],
    ["a relative directory", { cwd: "here" }, "cwd", "absolute"],
    ["a user by name", { uid: "me" }, "uid", "whole number"],
    ["two users", { user: "agents", uid: 7 }, "user", "not both"],
    ["an account", { account: { uid: 0 } }, "account", "no such"],
    ["a user that cannot be", { uid: -1 }, "uid", "whole number"],
    ["half a millisecond", { limits: { startMs: 0.5 } }, "limits.startMs", "whole number"],
    ["no sessions", { limits: { sessionsPerProcess: 0 } }, "limits.sessionsPerProcess", "from 1"],
    ["another way to resume", { resume: "maybe" }, "resume", "auto, load, seed"],
    ["another way to count", { usage: "month" }, "usage", "call, turn, session, cost"],
    ["an alias that is no name", { models: { default: 5 } }, "models.default", "it must be"],
    ["an alias of nothing", { models: { default: "" } }, "models.default", "it is empty"],
    [
      "a way to sign in without a method",
      { auth: [{ ifSet: ["A"] }] },
      "auth[0].method",
      "missing",
    ],
    ["ways to sign in of another kind", { auth: [7] }, "auth", "list"],
    [
      "a condition that is no variable",
      { auth: [{ method: "a", ifSet: ["="] }] },
      "auth[0].ifSet[0]",
      "name",
    ],
    ["another word for asking", { ask: "always" }, "ask", "default"],
    ["another means to make it ask", { ask: { file: "x" } }, "ask.file", "no such"],
    [
      "an option that is neither text nor flag",
      { ask: { options: { a: 1 } } },
      "ask.options.a",
      "text",
    ],
    [
      "a secret among what makes it ask",
      { ask: { env: { A_KEY: "x" } } },
      "ask.env.A_KEY",
      "secret",
    ],
    ["another ability", { withhold: ["fs"] }, "withhold[0]", "fs.read"],
    ["another writer", { writes: "both" }, "writes", "server"],
    ["another use of MCP", { mcp: "yes" }, "mcp", "offered"],
    ["a home that is no variable", { home: "~/x" }, "home", "name"],
    ["a variable with an odd name", { env: { "A=B": "x" } }, "env.A=B", "name"],
    ["a variable that is no text", { env: { A: 1 } }, "env.A", "object"],
    ["a reference to nothing", { env: { A: {} } }, "env.A", "from, or secret"],
    ["a reference with more to it", { env: { A: { from: "B", or: "" } } }, "env.A.or", "no such"],
    ["the mark", { env: { FERMATA_AGENT_MARK: "x" } }, "env.FERMATA_AGENT_MARK", "own"],
    ["an inherited mark", { inherit: ["FERMATA_AGENT_MARK"] }, "inherit[0]", "own"],
  ])("are refused with %s", (_what, setting, path, reason) => {
    const details = { profile: "mine", path, reason: expect.stringContaining(reason) };
    expect(refusal(setting)).toEqual(details);
  });

  it.each(["OPENAI_API_KEY", "GH_TOKEN", "client_secret", "DB_PASSWORD", "KEY", "MY_APIKEY2"])(
    "P11: are refused with a secret in %s, and told how to refer to it",
    (name) => {
      expect(refusal({ env: { [name]: "abc" } })).toMatchObject({
        path: `env.${name}`,
        reason: expect.stringContaining(`{"secret": "${name}"}`),
      });
    },
  );

  it("P11: name secrets, which they may be able to do without", () => {
    expect(
      refusal({ env: { A: { secret: "MY.key-1" }, B: { secret: "B", optional: true } } }),
    ).toBeNull();
    expect(refusal({ env: { A: { secret: "../etc/passwd" } } })).toMatchObject({
      path: "env.A.secret",
      reason: expect.stringContaining("it must match"),
    });
    expect(refusal({ env: { A: { secret: "B", optional: "yes" } } })).toMatchObject({
      path: "env.A.optional",
    });
    for (const mixed of [{ secret: "B", from: "C" }, { from: "C", optional: true }, {}]) {
      expect(refusal({ env: { A: mixed } })).toMatchObject({
        path: "env.A",
        reason: "it must have from, or secret",
      });
    }
  });

  it.each(["MAX_TOKENS", "KEYBOARD", "TOKENIZER", "MODEL"])("may say %s as it is", (name) => {
    expect(refusal({ env: { [name]: "4096" } })).toBeNull();
  });

  it("P10: are at most 256", () => {
    const many = Object.fromEntries(
      Array.from({ length: 257 }, (_, n) => [`a${n}`, { command: "agent" }]),
    );
    expect(readProfiles(many)).toMatchObject({ ok: false });
  });
});

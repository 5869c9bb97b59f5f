import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { detect } from "../process/spawn.ts";
import { KNOWN_PROFILES, withOwnProfiles } from "./known.ts";
import { type AskSetup, profileOf } from "./profile.ts";
import { readProfiles } from "./read.ts";

/** As an own profile would say it. */
function askSaid({ asks: _asks, ...said }: AskSetup) {
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== null));
}

describe("known agents", () => {
  it("are these, started so", () => {
    const lines = KNOWN_PROFILES.map(({ name, command, args }) => [name, command, ...args]);
    expect(lines).toEqual([
      ["qwen", "qwen", "--acp"],
      ["gemini", "gemini", "--acp"],
      ["opencode", "opencode", "acp"],
      ["codex", "codex-acp"],
      ["claude", "claude-agent-acp"],
      ["goose", "goose", "acp"],
      ["kilo", "kilo", "acp"],
      ["kimi", "kimi", "acp"],
      ["copilot", "copilot", "--acp"],
      ["grok", "grok", "agent", "stdio"],
      ["codex-zed", "codex-acp"],
      ["echo", process.execPath, expect.stringMatching(/agent\/builtin\/echo\/main\.[jt]s$/)],
    ]);
  });

  it("keep to the rules for own profiles", () => {
    const config = Object.fromEntries(
      KNOWN_PROFILES.map(({ name, ask, ...rest }) => {
        const said = Object.entries(rest).filter(([, value]) => value !== null);
        return [name, { ...Object.fromEntries(said), ask: askSaid(ask) }];
      }),
    );
    const read = readProfiles(config);
    expect(read.ok && [...read.value.values()]).toEqual(KNOWN_PROFILES);
  });

  it("P2: all ask before they act, by themselves or because they are made to", () => {
    const ways = KNOWN_PROFILES.map(({ name, ask: { asks, mode, env, args } }) => {
      return [name, asks, mode, ...Object.keys(env), ...args].filter((word) => word !== null);
    });
    expect(ways).toEqual([
      ["qwen", "made_to", "default"],
      ["gemini", "made_to", "default"],
      ["opencode", "made_to", "OPENCODE_PERMISSION"],
      ["codex", "made_to", "read-only"],
      ["claude", "made_to", "default"],
      ["goose", "made_to", "approve", "GOOSE_MODE"],
      ["kilo", "made_to", "KILO_PERMISSION"],
      ["kimi", "made_to", "default"],
      ["copilot", "made_to", "https://agentclientprotocol.com/protocol/session-modes#agent"],
      ["grok", "by_default"],
      ["codex-zed", "made_to", "read-only"],
      ["echo", "by_default"],
    ]);
  });

  it("P2: inherit what makes them ask or not for sessions that want to be asked nothing", () => {
    const made = KNOWN_PROFILES.flatMap(({ ask, inherit }) =>
      Object.keys(ask.env).map((name) => inherit.includes(name)),
    );
    expect(made).toEqual([true, true, true]);
  });

  it("give way to an own profile of the same name", () => {
    const own = profileOf({ name: "qwen", command: "my-qwen" });
    const all = withOwnProfiles(new Map([["qwen", own]]));
    expect(all.get("qwen")).toBe(own);
    expect(all.size).toBe(KNOWN_PROFILES.length);
  });
});

describe("the agents that are installed", () => {
  it("are found on the PATH without being run", async () => {
    const folder = mkdtempSync(join(tmpdir(), "fermata-detect-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const ran = join(folder, "ran");
    writeFileSync(join(folder, "qwen"), `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o700 });
    writeFileSync(join(folder, "gemini"), "not executable", { mode: 0o600 });
    const found = await detect(KNOWN_PROFILES, { PATH: `/nowhere:${folder}` });
    expect(found.map(({ profile, path }) => [profile.name, path])).toEqual([
      ["qwen", join(folder, "qwen")],
      ["gemini", null],
      ["opencode", null],
      ["codex", null],
      ["claude", null],
      ["goose", null],
      ["kilo", null],
      ["kimi", null],
      ["copilot", null],
      ["grok", null],
      ["codex-zed", null],
      ["echo", process.execPath],
    ]);
    expect(() => rmSync(ran)).toThrow("ENOENT");
  });

  it("are looked for where their profile says", async () => {
    const profile = profileOf({ name: "a", command: "sh", env: { PATH: "/bin" } });
    expect(await detect([profile], { PATH: "/nowhere" })).toEqual([{ profile, path: "/bin/sh" }]);
    expect(await detect([{ ...profile, env: { PATH: { from: "X" } } }], {})).toEqual([
      { profile: expect.anything(), path: null },
    ]);
  });
});

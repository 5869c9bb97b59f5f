import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { detect } from "./detect.ts";
import { KNOWN_PROFILES, withOwnProfiles } from "./known.ts";
import { profileOf } from "./profile.ts";
import { readProfiles } from "./read.ts";

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
      ["echo", process.execPath, expect.stringMatching(/agent\/builtin\/echo\/main\.ts$/)],
    ]);
  });

  it("keep to the rules for own profiles", () => {
    const config = Object.fromEntries(
      KNOWN_PROFILES.map(({ name, cwd, uid, gid, auth, install, ...rest }) => {
        const said = Object.entries({ cwd, uid, gid, auth, install });
        return [
          name,
          { ...rest, ...Object.fromEntries(said.filter(([, value]) => value !== null)) },
        ];
      }),
    );
    const read = readProfiles(config);
    expect(read.ok && [...read.value.values()]).toEqual(KNOWN_PROFILES);
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

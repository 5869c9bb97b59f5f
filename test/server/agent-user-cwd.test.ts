import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished } from "vitest";
import { spawnAgent } from "../../src/agent/process/spawn.ts";
import { profileOf } from "../../src/agent/profile/profile.ts";
import { Terminal } from "../../src/agent/workspace/terminal.ts";
import { LocalShell } from "../../src/session/side/local-shell.ts";
import { FOREVER, NO_MARKS } from "../../src/session/side/side.fixture.ts";
import { asRoot } from "./agent-user.fixture.ts";

const USER = { uid: 65_534, gid: 65_534, launcher: [] };
const env = { PATH: "/usr/bin:/bin" };

/** A folder that all users may use, below one that only root may enter, and a link to it. */
function linkToShut(): string {
  const folder = mkdtempSync(join(tmpdir(), "fermata-cwd-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o711);
  const open = join(folder, "shut", "open");
  mkdirSync(open, { recursive: true });
  chmodSync(join(folder, "shut"), 0o700);
  writeFileSync(join(open, "key.txt"), "OF-ROOT");
  for (const path of [open, join(open, "key.txt")]) chownSync(path, USER.uid, USER.gid);
  symlinkSync(open, join(folder, "workspace"));
  return join(folder, "workspace");
}

/** How each kind of program is started, and what it says when it reads a file of its folder. */
const STARTS = {
  shell: async (cwd: string) => {
    let said = "";
    const output = (more: string) => {
      said += more;
      return undefined;
    };
    const listener = { started: () => {}, output };
    await new LocalShell(env, NO_MARKS, USER).run(
      { command: "cat key.txt", cwd },
      listener,
      FOREVER,
    );
    return said;
  },
  terminal: async (cwd: string) => {
    const start = { file: "cat", args: ["key.txt"], environment: env, outputBytesMax: 1_000 };
    const terminal = new Terminal({ ...start, cwd, user: USER });
    await terminal.waitForExit();
    return terminal.output().output;
  },
  "agent or MCP server": async (cwd: string) => {
    const ids = { uid: USER.uid, gid: USER.gid };
    const profile = profileOf({ name: "cat", command: "cat", args: ["key.txt"], ...ids });
    const spawned = await spawnAgent(profile, "/bin/cat", { cwd, env });
    if (!spawned.ok) return spawned.refusal.code;
    const { stdout, stderr } = spawned.value.child;
    return (await Promise.all([text(stdout), text(stderr)])).join("");
  },
};

describe.each(Object.entries(STARTS))("P8: the %s of another user", (_, start) => {
  asRoot("enters its folder with its own rights, not with the server's", async () => {
    const said = await start(linkToShut());
    expect(said).not.toContain("OF-ROOT");
    expect(said).toMatch(/can't cd|Permission denied/);
  });

  asRoot("works in a folder that it may enter, also with an odd name", async () => {
    const cwd = join(mkdtempSync(join(tmpdir(), "fermata-cwd-")), `-a "b" $HOME 'c'`);
    onTestFinished(() => rmSync(join(cwd, ".."), { recursive: true, force: true }));
    mkdirSync(cwd);
    writeFileSync(join(cwd, "key.txt"), "OF-ALL");
    chmodSync(join(cwd, ".."), 0o755);
    expect(await start(cwd)).toBe("OF-ALL");
  });
});

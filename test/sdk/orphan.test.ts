import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ECHO } from "../server/program.fixture.ts";
import { sharedServer } from "../server/serve.fixture.ts";
import { newSession, script } from "./session.fixture.ts";

/** In the environment of every process of these agents, and of no other. */
const SIGN = `FERMATA_TEST_SIGN=${randomUUID()}`;
const [NAME = "", VALUE = ""] = SIGN.split("=");

const server = sharedServer({
  flags: ["--agent", "stubborn"],
  agents: {
    stubborn: {
      command: process.execPath,
      args: [ECHO, "--ignore-eof", "--ignore-term"],
      env: { [NAME]: VALUE },
    },
  },
});

/** The marks of all living processes of these agents, one for each process. */
function marks(): readonly string[] {
  const table = execFileSync("ps", ["axeww", "-o", "command="], { encoding: "utf8" });
  const own = table.split("\n").filter((line) => line.includes(SIGN));
  return own.map((line) => /FERMATA_AGENT_MARK=(\S+)/.exec(line)?.[1] ?? "unmarked");
}

describe("P5: agents that do not leave by themselves", { timeout: 60_000 }, () => {
  it("are gone with all that they started when the next server is ready", async () => {
    const ada = await newSession(server());
    await ada.prompt(script("fork-child", "fork-child detached"));
    await ada.submitPrompt(script("hang"));
    const before = marks();
    expect(before).toHaveLength(3);
    expect(new Set(before).size).toBe(1);
    expect(before).not.toContain("unmarked");

    await server().kill("SIGKILL");
    expect(marks()).toEqual(before);
    await server().restart();
    expect(marks().filter((mark) => before.includes(mark))).toEqual([]);
    expect(await ada.prompt(script("say on"))).toMatchObject({ stopReason: "end_turn" });
    expect(marks()).toHaveLength(1);

    await server().kill("SIGTERM");
    expect(marks()).toEqual([]);
  });
});

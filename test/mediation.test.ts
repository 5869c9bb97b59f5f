// What an agent has the server do for it, against a server as a user has it: a command, a file
// written, a file read. Agents that ask first are asked about once; those that do not are mediated
// all the same. `echo` plays both, and the ones that try to get around it.

import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sharedServer } from "./server/serve.fixture.ts";
import { Talk } from "./server/talk.fixture.ts";

const server = sharedServer({ flags: ["--agent", "echo"] });
const path = (name: string) => join(server().workspace, name);
const isThere = (name: string) => existsSync(path(name));
const count = (text: string, words: string) => text.split(words).length - 1;

const ASKED = "event: permission_request";
const ACCESS = "event: agent_access";

describe("a command or a file that an agent did not ask about", () => {
  it("is asked about by the server, and done when a person allows it", async () => {
    const talk = await Talk.begun(server());
    const said = await talk.answered("allow_once", "run touch unasked.txt");
    expect(said).toMatch(/"action":"terminal".*"allowed":true,"by":"vote"/);
    expect(isThere("unasked.txt")).toBe(true);
    await talk.answered("allow_once", "write ./unasked-too.txt hello");
    expect(readFileSync(path("unasked-too.txt"), "utf8")).toBe("hello");
  });

  it("is not done when a person refuses it, and the agent is told why", async () => {
    const talk = await Talk.begun(server());
    const said = await talk.answered("reject_once", "run touch refused.txt");
    expect(said).toContain("a person has refused it");
    expect(isThere("refused.txt")).toBe(false);
  });

  it("P4: is cancelled with its turn, and then not done", async () => {
    const talk = await Talk.begun(server());
    const said = await talk.prompt('"to":"waiting"', "write ./cancelled.txt no");
    await talk.call("POST", "/cancel", {});
    const after = await talk.until('"stopReason":"cancelled"', lastIdIn(said));
    expect(after).not.toContain(ACCESS);
    expect(isThere("cancelled.txt")).toBe(false);
  });

  it.each([
    ["in plan", { approvalMode: "plan" }, "plan mode"],
    ["off the allowlist", { mode: "allowlist", allowlist: ["read:*"] }, "allowlist"],
  ])("is refused %s without asking anybody", async (_what, creation, why) => {
    const talk = await Talk.begun(server(), creation);
    const said = await talk.prompt("turn_complete", "run touch no.txt", "write ./no-too.txt x");
    expect(count(said, why)).toBe(2);
    expect(count(said, '"allowed":false')).toBe(2);
    expect(said).not.toContain(ASKED);
    expect(isThere("no.txt") || isThere("no-too.txt")).toBe(false);
  });

  it("is done in yolo without asking anybody, and is an event all the same", async () => {
    const talk = await Talk.begun(server(), { mode: "yolo" });
    const said = await talk.prompt("turn_complete", "run touch yolo.txt");
    expect(said).toMatch(/"action":"terminal".*"allowed":true,"by":"security_mode"/);
    expect(isThere("yolo.txt")).toBe(true);
  });
});

describe("a file that an agent reads", () => {
  it("is answered inside the workspace, also in plan, and is an event", async () => {
    writeFileSync(path("readme.txt"), "MUSIC");
    const talk = await Talk.begun(server(), { approvalMode: "plan" });
    const said = await talk.prompt("turn_complete", "read ./readme.txt");
    expect(said).toContain("MUSIC");
    expect(said).toMatch(/"action":"read","path":"[^"]*readme.txt".*"by":"workspace"/);
  });

  it("needs an entry of the allowlist in a session that has one", async () => {
    writeFileSync(path("listed.txt"), "MUSIC");
    const may = { mode: "allowlist", allowlist: ["read:listed.*"] };
    const said = await (await Talk.begun(server(), may)).prompt(
      "turn_complete",
      "read ./listed.txt",
    );
    expect(said).toContain("MUSIC");
    const not = { mode: "allowlist", allowlist: ["execute:ls"] };
    const other = await (await Talk.begun(server(), not)).prompt(
      "turn_complete",
      "read ./listed.txt",
    );
    expect(other).not.toContain("MUSIC");
  });
});

describe("what an agent has asked about", () => {
  const toTouch = (name: string) => `ask kind=execute command="touch ${name}"`;

  it("is asked about once, however it is started then", async () => {
    const talk = await Talk.begun(server());
    const said = await talk.answered(
      "allow_once",
      toTouch("asked.txt"),
      'run bash -lc "touch asked.txt"',
    );
    expect(said).toMatch(/"by":"ask","answeredBy":"/);
    expect(count(said, ASKED)).toBe(1);
    expect(isThere("asked.txt")).toBe(true);
  });

  it.each([
    ["twice on one grant", toTouch("g.txt"), ["run touch g.txt", "run touch g.txt"], "touch g.txt"],
    ["with a byte more", toTouch("h.txt"), ["run touch h.txt2"], "touch h.txt2"],
    ["through a link", "ask kind=edit path=./link.txt", ["write ./link.txt new"], "target.txt"],
  ])("is asked about anew if the agent does it %s", async (_what, ask, script, shown) => {
    const talk = await Talk.begun(server());
    writeFileSync(path("target.txt"), "as it was");
    if (!isThere("link.txt")) symlinkSync(path("target.txt"), path("link.txt"));
    const first = await talk.prompt('"to":"waiting"', ask, ...script);
    await talk.vote(first, "allow_once");
    const again = await talk.until('"to":"waiting"', lastIdIn(first));
    expect(again.slice(again.indexOf(ASKED))).toContain(shown);
    await talk.call("POST", "/cancel", {});
    await talk.until('"stopReason":"cancelled"', lastIdIn(first));
    expect(readFileSync(path("target.txt"), "utf8")).toBe("as it was");
    expect(isThere("h.txt2")).toBe(false);
  });

  it("is refused without a further ask if a person has denied it in this turn", async () => {
    const talk = await Talk.begun(server());
    const said = await talk.answered("reject_once", toTouch("denied.txt"), "run touch denied.txt");
    expect(said).toContain("a person has refused it in this turn");
    expect(count(said, ASKED)).toBe(1);
    expect(isThere("denied.txt")).toBe(false);
  });

  it("is asked about anew in another directory, and runs in no other than was shown", async () => {
    const talk = await Talk.begun(server());
    for (const folder of ["seen", "unseen"]) mkdirSync(path(folder), { recursive: true });
    const start = (cwd: string) =>
      `call terminal/create ${JSON.stringify({ command: "touch where.txt", cwd: path(cwd) })}`;
    await talk.answered("allow_always", 'ask kind=execute command="touch where.txt"');
    symlinkSync(path("seen"), path("swapped"));
    const asked = await talk.prompt('"to":"waiting"', start("swapped"));
    expect(asked).toContain(`cd ${path("seen")} && touch where.txt`);
    rmSync(path("swapped"));
    symlinkSync(path("unseen"), path("swapped"));
    await talk.vote(asked.slice(asked.indexOf(ASKED)), "allow_once");
    const said = await talk.until("turn_complete", lastIdIn(asked));
    expect(said).toContain("it leads elsewhere since it was permitted");
    expect(isThere("seen/where.txt") || isThere("unseen/where.txt")).toBe(false);
  });

  it("P2: is answered whatever its variables are called, and the server lives on", async () => {
    const talk = await Talk.begun(server());
    const env = ["constructor", "__proto__", "toString"].map((name) => ({ name, value: "1" }));
    const params = { command: "touch", args: ["named.txt"], env };
    const said = await talk.answered(
      "allow_once",
      `call terminal/create ${JSON.stringify(params)}`,
    );
    expect(said).toContain("constructor=1 __proto__=1 toString=1 touch named.txt");
    await expect.poll(() => isThere("named.txt")).toBe(true);
  });

  it("P8: covers nothing in another session's name", async () => {
    const [one, other] = [await Talk.begun(server()), await Talk.begun(server())];
    const [, name] = /session: ([^\\]+)/.exec(await other.prompt("turn_complete", "whoami")) ?? [];
    const params = JSON.stringify({ sessionId: name, command: "touch", args: ["stolen.txt"] });
    const said = await one.answered(
      "allow_once",
      toTouch("stolen.txt"),
      `call terminal/create ${params}`,
    );
    expect(said).toContain("it belongs to no turn");
    expect(isThere("stolen.txt")).toBe(false);
  });
});

function lastIdIn(frames: string): number {
  return Number([...frames.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? 0);
}

// A server and commands beside it change the members of one tenant at the same time, each in a
// process of its own: none of them waits for the others.

import { execFile } from "node:child_process";
import { describe, expect, it, onTestFinished } from "vitest";
import { ENTRY } from "./program.fixture.ts";
import { ServeProcess } from "./serve.fixture.ts";

const COMMANDS = 6;
const CALLERS = 4;
const ROLES = ["member", "viewer"] as const;

/** The command, in a process of its own; whether it did what it was told. */
function fermata({ data }: ServeProcess, ...args: readonly string[]) {
  const given = [ENTRY, ...args, "--tenant", "acme", "--data", data];
  return new Promise<{ isDone: boolean; out: string }>((resolve) => {
    execFile(process.execPath, given, (failed, out) => {
      resolve({ isDone: failed === null, out: out.trim() });
    });
  });
}

async function opened() {
  const server = await ServeProcess.start({ flags: ["--token", "the-operators-own"] });
  onTestFinished(() => server.end());
  const { out: token } = await fermata(
    server,
    "tokens",
    "create",
    "--user",
    "ada",
    "--role",
    "owner",
  );
  const ask = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  };
  return { server, ask };
}

describe("the audit of members whom a server and commands change at the same time", () => {
  it("has as many accepted entries as there were changes", async () => {
    const { server, ask } = await opened();
    let isOver = false;
    let changes = 0;
    const caller = async (name: string) => {
      for (let n = 0; !isOver; n += 1) {
        const role = ROLES[n % ROLES.length];
        const { status, text } = await ask("POST", `/members/${name}`, { role });
        if (status === 200) changes += 1;
        else expect([status, JSON.parse(text).code]).toEqual([503, "server_busy"]);
      }
    };
    const callers = Array.from({ length: CALLERS }, (_, n) => caller(`called-${n}`));
    const commands = Array.from({ length: COMMANDS }, (_, n) =>
      fermata(server, "members", "set", `told-${n}`, "viewer"),
    );
    const done = (await Promise.all(commands)).filter(({ isDone }) => isDone).length;
    isOver = true;
    await Promise.all(callers);
    const { text } = await ask("GET", "/audit?act=member_set&format=ndjson");
    const entries = text.trimEnd().split("\n");
    // One more is ada, for whom the token was made.
    expect(entries).toHaveLength(changes + done + 1);
    expect(changes).toBeGreaterThan(COMMANDS);
    const { members } = JSON.parse((await ask("GET", "/members")).text);
    expect(members).toHaveLength(CALLERS + done + 1);
  });
});

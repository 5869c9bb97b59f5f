import { readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ServeProcess } from "./serve.fixture.ts";

/** Asks the server, with a body or without. */
async function call(url: string, path: string, body?: object) {
  const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${url}${path}`, { ...sent, headers });
  return JSON.parse(await response.text());
}

/** What the agent says to this prompt, when its turn is over. */
async function answerTo(url: string, sessionId: string, text: string): Promise<string> {
  const leaving = new AbortController();
  const events = await fetch(`${url}/session/${sessionId}/events`, { signal: leaving.signal });
  await call(url, `/session/${sessionId}/prompt`, { prompt: [{ type: "text", text }] });
  let heard = "";
  for await (const chunk of events.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    heard += chunk;
    if (/"type":"turn_(?:complete|error)"/.test(heard)) break;
  }
  leaving.abort();
  return heard;
}

describe("P8: a server whose workspace has its data in it", () => {
  it("shows its agents nothing of that, and takes it for no workspace", async () => {
    const around = realpathSync(tmpdir());
    const server = await ServeProcess.start({ flags: ["--agent", "echo", "--workspace", around] });
    onTestFinished(() => server.end());
    const { url, data, folder } = server;
    writeFileSync(join(data, "other.txt"), "TOP-SECRET");
    writeFileSync(join(folder, "mine.txt"), "MY-OWN");
    const made = await call(url, "/session", { sessionScope: "thread", cwd: around });
    const asked = (text: string) => answerTo(url, made.sessionId, text);
    expect(await asked(`read ${join(folder, "mine.txt")}`)).toContain("MY-OWN");
    const read = await asked(`read ${join(data, "other.txt")}`);
    expect(read).toContain("not inside the workspace");
    expect(read).not.toContain("TOP-SECRET");
    await asked(`write ${join(data, "other.txt")} changed`);
    expect(readFileSync(join(data, "other.txt"), "utf8")).toBe("TOP-SECRET");
    for (const cwd of [data, join(data, "sessions"), folder, join(folder, "home"), "/"]) {
      const added = await call(url, "/workspaces", { cwd });
      expect([cwd, added.code]).toEqual([cwd, "invalid_workspace"]);
    }
    expect((await call(url, "/workspaces", { cwd: around })).primary).toBe(false);
  }, 60_000);
});

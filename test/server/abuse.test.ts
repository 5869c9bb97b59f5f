import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { CONNECTIONS_MAX } from "../../src/core/limits.ts";
import { sharedServer } from "./serve.fixture.ts";

/** So little memory that anything kept without limit would soon take the server down. */
const server = sharedServer({ env: { NODE_OPTIONS: "--max-old-space-size=192" } });

const MIB = 1_024 * 1_024;

/** What the server's process has in memory. */
function residentBytes(): number {
  const [, pages = "0"] = readFileSync(`/proc/${server().pid}/statm`, "utf8").split(" ");
  return Number(pages) * 4_096;
}

async function dial(): Promise<Socket> {
  const socket = connect(server().port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  // What the server does to those who misbehave is no error of this test.
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** The first line of what is answered; nothing, if the connection is simply cut. */
async function statusLine(socket: Socket): Promise<string> {
  let heard = "";
  socket.on("data", (bytes) => {
    heard += bytes;
    if (heard.includes("\r\n")) socket.destroy();
  });
  await new Promise((resolve) => socket.once("close", resolve));
  return heard.split("\r\n")[0] ?? "";
}

function head(...lines: readonly string[]): string {
  return ["POST /session HTTP/1.1", `Host: 127.0.0.1:${server().port}`, ...lines, "", ""].join(
    "\r\n",
  );
}

async function made(): Promise<string> {
  const response = await fetch(`${server().url}/session`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ sessionScope: "thread" }),
  });
  return String(Object(await response.json()).sessionId);
}

/** A whole turn of a client that behaves. */
async function turn(sessionId: string, text: string): Promise<string> {
  const url = `${server().url}/session/${sessionId}`;
  const stream = await fetch(`${url}/events`);
  await fetch(`${url}/prompt`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ prompt: [{ type: "text", text }] }),
  });
  let heard = "";
  for await (const bytes of stream.body ?? []) {
    heard = (heard + Buffer.from(bytes).toString()).slice(-4_096);
    const [verdict] = /turn_complete|turn_error/.exec(heard) ?? [];
    if (verdict !== undefined) return verdict;
  }
  return "no verdict";
}

const isServed = async () => (await fetch(`${server().url}/health`)).ok;

describe("P10: a server stays up, small and of use to others", () => {
  it("while somebody announces a hundred megabytes, or sends them without saying so", async () => {
    const before = residentBytes();
    const announced = await dial();
    announced.write(head("Content-Type: application/json", `Content-Length: ${100 * MIB}`));
    expect(await statusLine(announced)).toMatch(/ 413 /);
    const endless = await dial();
    const answer = statusLine(endless);
    endless.write(head("Content-Type: application/json", "Transfer-Encoding: chunked"));
    const piece = `100000\r\n${"x".repeat(MIB)}\r\n`;
    for (let sent = 0; sent < 100 && endless.writable; sent += 1) {
      if (!endless.write(piece)) await Promise.race([once(endless, "drain"), answer]);
    }
    expect(await answer).toMatch(/ 413 /);
    expect(residentBytes() - before).toBeLessThan(128 * MIB);
    expect(await isServed()).toBe(true);
  });

  it("while somebody sends headers without end", async () => {
    const socket = await dial();
    const answer = statusLine(socket);
    socket.write(`GET /health HTTP/1.1\r\nHost: 127.0.0.1:${server().port}\r\n`);
    for (let sent = 0; sent < 4_096 && socket.writable; sent += 1) {
      socket.write(`X-Flood-${sent}: ${"x".repeat(256)}\r\n`);
    }
    expect(await answer).toMatch(/ 431 |^$/);
    expect(await isServed()).toBe(true);
  });

  it("while streams are open that nobody reads", async () => {
    const sessionId = await made();
    const ignored = await Promise.all(Array.from({ length: 16 }, dial));
    for (const socket of ignored) {
      socket.pause();
      const request = head("Last-Event-ID: 0").replace("POST /session ", " ");
      socket.write(`GET /session/${sessionId}/events${request}`);
    }
    for (let turns = 0; turns < 8; turns += 1) {
      expect(await turn(sessionId, "chunks 5000 1000")).toBe("turn_complete");
    }
    expect(await turn(await made(), "say hello")).toBe("turn_complete");
  }, 60_000);

  it("after ten thousand connections that wanted nothing", async () => {
    const before = residentBytes();
    for (let round = 0; round < 100; round += 1) {
      const sockets = await Promise.all(Array.from({ length: 100 }, dial));
      for (const socket of sockets) socket.destroy();
    }
    expect(residentBytes() - before).toBeLessThan(128 * MIB);
    expect(await isServed()).toBe(true);
  }, 60_000);

  it("after more connections at a time than it takes, once some are gone", async () => {
    const first = await dial();
    let heard = "";
    first.on("data", (bytes) => {
      heard += bytes;
    });
    const answer = async (number: number) => {
      first.write(`GET /health HTTP/1.1\r\nHost: 127.0.0.1:${server().port}\r\n\r\n`);
      await expect.poll(() => heard.split("HTTP/1.1 200 ").length - 1).toBe(number);
    };
    await answer(1);
    const sockets = await Promise.all(Array.from({ length: 300 }, dial));
    for (const socket of sockets) socket.resume();
    // Clients from before are served, and meanwhile the server has looked at all others.
    for (let number = 2; number < 20; number += 1) await answer(number);
    const open = sockets.filter(({ readyState }) => readyState === "open");
    expect(open.length).toBeLessThan(CONNECTIONS_MAX);
    for (const socket of [first, ...sockets]) socket.destroy();
    await expect.poll(() => isServed().catch(() => false)).toBe(true);
  });
});

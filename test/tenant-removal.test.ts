// A tenant of a real server is deleted: what is left of it on the disk and among the processes,
// and what of the others has changed.

import { execFile, execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { JsonObject } from "../src/core/json.ts";
import { ECHO, ENTRY } from "./server/program.fixture.ts";
import { ServeProcess } from "./server/serve.fixture.ts";

/** In the environment of every process of these agents, and of no other. */
const SIGN = randomUUID();

async function started(): Promise<ServeProcess> {
  const server = await ServeProcess.start({
    flags: [
      ...["--agent", "signed", "--token", "the-operators-own"],
      ...["--enable-session-shell", "--tenant-credits", "unlimited"],
    ],
    agents: {
      signed: { command: process.execPath, args: [ECHO], env: { FERMATA_TEST_SIGN: SIGN } },
    },
  });
  onTestFinished(() => server.end());
  return server;
}

/** The command, in a process of its own. */
function fermata({ data }: ServeProcess, ...args: readonly string[]) {
  const given = [ENTRY, ...args, "--data", data];
  return new Promise<{ code: number; out: string; error: string }>((resolve) => {
    execFile(process.execPath, given, (failed, out, error) => {
      resolve({ code: failed === null ? 0 : Number(failed.code), out: out.trim(), error });
    });
  });
}

/** An owner of a tenant, who speaks to a server with a token of their own. */
class Owner {
  readonly #server: ServeProcess;
  readonly #token: string;
  readonly tenant: string;

  private constructor(server: ServeProcess, tenant: string, token: string) {
    this.#server = server;
    this.#token = token;
    this.tenant = tenant;
  }

  static async of(server: ServeProcess, tenant: string): Promise<Owner> {
    const user = ["--tenant", tenant, "--user", `${tenant}-owner`, "--role", "owner"];
    const { out } = await fermata(server, "tokens", "create", ...user);
    return new Owner(server, tenant, out);
  }

  async ask(method: string, path: string, body?: object) {
    const response = await fetch(`${this.#server.url}${path}`, {
      method,
      headers: { "content-type": "application/json", ...this.#headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const said: JsonObject = text === "" ? {} : JSON.parse(text);
    return { status: response.status, body: said };
  }

  delete() {
    return this.ask("DELETE", "/tenant", { confirm: this.tenant });
  }

  /** A session under this name. */
  async session(displayName: string): Promise<string> {
    const { body } = await this.ask("POST", "/session", { sessionScope: "thread" });
    const id = String(body.sessionId);
    await this.ask("PATCH", `/session/${id}/metadata`, { displayName });
    return id;
  }

  async prompt(sessionId: string, text: string): Promise<void> {
    const body = { prompt: [{ type: "text", text }] };
    expect((await this.ask("POST", `/session/${sessionId}/prompt`, body)).status).toBe(202);
  }

  /** Reads a stream until it says this; all that it has said until then. */
  async heard(path: string, words: string): Promise<string> {
    const headers = { ...this.#headers, "last-event-id": "0" };
    const response = await fetch(`${this.#server.url}${path}`, { headers });
    let text = "";
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      if (text.includes(words)) return text;
    }
    return expect.fail(`the stream ended before it said ${words}: ${text}`);
  }

  get #headers() {
    const clientId = `client-of-${this.tenant}`;
    return { authorization: `Bearer ${this.#token}`, "x-qwen-client-id": clientId };
  }
}

/** The living processes whose command line or environment has this. */
function processesWith(text: string): readonly string[] {
  const table = execFileSync("ps", ["axeww", "-o", "pid=,command="], { encoding: "utf8" });
  const lines = table.split("\n").filter((line) => line.includes(text));
  return lines.map((line) => line.trim().split(" ")[0] ?? "").toSorted();
}

/** Every file under a folder, its name before what is in it. */
function bytesUnder(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return `${path}\n${readFileSync(path, "latin1")}\n`;
    })
    .toSorted()
    .join("");
}

const folderOf = ({ data }: ServeProcess, tenant: string) =>
  join(data, "sessions", "tenants", tenant);

describe("a tenant that its owner deletes", { timeout: 60_000 }, () => {
  it("P5, P8: leaves nothing on the disk and no process, and others as they were", async () => {
    const server = await started();
    const [quiet, busy, doomed] = [
      await Owner.of(server, "quiet"),
      await Owner.of(server, "busy"),
      await Owner.of(server, "doomed"),
    ];
    const past = await quiet.session("a quiet name");
    await quiet.prompt(past, "say a quiet word");
    await quiet.heard(`/session/${past}/events`, "turn_complete");
    const atWork = await busy.session("a busy name");
    await busy.prompt(atWork, "ask");
    const asked = await busy.heard(`/session/${atWork}/events`, "permission_request");
    const others = processesWith(SIGN);

    const hers = await doomed.session("a doomed name");
    const gone = await doomed.session("one that is closed");
    await doomed.prompt(gone, "say a doomed word");
    await doomed.heard(`/session/${gone}/events`, "turn_complete");
    await doomed.ask("DELETE", `/session/${gone}`);
    await doomed.prompt(hers, "say a doomed word\nfork-child\nsleep 600000");
    await doomed.heard(`/session/${hers}/events`, "child");
    const shell = doomed.ask("POST", `/session/${hers}/shell`, { command: "sleep 314159" });
    await expect.poll(() => processesWith("sleep 314159").length).toBeGreaterThan(0);
    const stream = doomed.heard(`/session/${hers}/events`, "event: session_closed");
    const all = doomed.heard("/events", "tenant_deleted");
    const words = ["doomed", hers, gone];
    for (const word of words) expect(bytesUnder(server.data)).toContain(word);
    const before = bytesUnder(folderOf(server, "quiet"));

    expect(await doomed.delete()).toEqual({ status: 204, body: {} });

    for (const word of words) expect(bytesUnder(server.data)).not.toContain(word);
    expect(bytesUnder(folderOf(server, "quiet"))).toBe(before);
    expect(processesWith(SIGN)).toEqual(others);
    expect(processesWith("sleep 314159")).toEqual([]);
    expect(await stream).toContain("turn_error");
    await Promise.all([all, shell]);
    expect((await doomed.ask("GET", "/members")).status).toBe(401);
    const [, requestId = ""] = /"requestId":"([^"]+)"/.exec(asked) ?? [];
    const vote = { outcome: { outcome: "cancelled" } };
    await busy.ask("POST", `/session/${atWork}/permission/${requestId}`, vote);
    await busy.heard(`/session/${atWork}/events`, "turn_complete");
    const line = /\{"level":"warn".*"msg":"tenant deleted"\}/.exec(server.said)?.[0] ?? "{}";
    expect(JSON.parse(line)).toMatchObject({ tenantId: "doomed", by: "doomed-owner", sessions: 2 });
  });

  it("is there or gone after a crash in the middle of it, and can be deleted again", async () => {
    const server = await started();
    const doomed = await Owner.of(server, "doomed");
    const sessionId = await doomed.session("a doomed name");
    await doomed.prompt(sessionId, "say a doomed word");
    const closed = doomed.heard(`/session/${sessionId}/events`, "event: session_closed");
    const deleting = doomed.delete().catch(() => null);
    await closed;
    await server.kill("SIGKILL");
    await deleting;
    await server.restart();
    const { status } = await doomed.ask("GET", "/members");
    expect([200, 401]).toContain(status);
    if (status === 200) {
      expect((await doomed.ask("POST", `/session/${sessionId}/load`, {})).status).toBe(200);
      expect((await doomed.delete()).status).toBe(204);
    }
    expect(bytesUnder(join(server.data, "sessions"))).not.toContain("doomed");
    expect((await doomed.ask("GET", "/members")).status).toBe(401);
  });
});

describe("fermata tenants", { timeout: 60_000 }, () => {
  it("lists beside a server, deletes nothing there, and deletes when it has stopped", async () => {
    const server = await started();
    const [doomed, other] = [await Owner.of(server, "doomed"), await Owner.of(server, "other")];
    const sessionId = await doomed.session("a doomed name");
    await other.session("another name");
    const listed = await fermata(server, "tenants", "list");
    expect(listed.out).toMatch(/^doomed +1 +1 +\d+$/m);
    const refused = await fermata(server, "tenants", "delete", "doomed", "--yes");
    expect([refused.code, refused.error]).toEqual([
      1,
      expect.stringMatching(
        /process \d+ on .*: stop it first, or let an owner send DELETE \/tenant/,
      ),
    ]);
    expect((await doomed.ask("GET", "/members")).status).toBe(200);
    await server.kill("SIGTERM");
    const before = bytesUnder(folderOf(server, "other"));
    expect((await fermata(server, "tenants", "delete", "doomed")).code).toBe(2);
    expect((await fermata(server, "tenants", "delete", "doomed", "--yes")).code).toBe(0);
    for (const word of ["doomed", sessionId]) {
      expect(bytesUnder(server.data)).not.toContain(word);
    }
    expect(bytesUnder(folderOf(server, "other"))).toBe(before);
  });
});

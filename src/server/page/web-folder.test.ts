import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { CONNECTIONS_OF_WEB_FILES_MAX } from "../../core/limits.ts";
import { itWhere } from "../../platform/machine.fixture.ts";
import { json } from "../http/answer.ts";
import { answering, bodyOf, closeServers, type Question, serve } from "../http/server.fixture.ts";
import type { ServerOptions } from "../settings.ts";
import { WebFolder } from "./web-folder.ts";

afterEach(closeServers);

const INDEX = `<!doctype html><!-- <script>no()</script> -->
<script>one()</script><script src="/assets/app-4f3a2b1c.js"></script>`;

const BROWSER = { accept: "text/html,*/*;q=0.8" };
const TOKEN = "a-token-that-is-long-enough";

const HANDLES = "/proc/self/fd";

const noHandles = existsSync(HANDLES) ? null : "the system does not list the files that are open";

/** What this process has open below a folder. */
function openFilesIn(folder: string): readonly string[] {
  const paths = readdirSync(HANDLES).map((name) => {
    try {
      return readlinkSync(join(HANDLES, name));
    } catch {
      return "";
    }
  });
  return paths.filter((path) => path.startsWith(folder));
}

/** A client with one asset; beside it a secret, and links from the client to it. */
function folders() {
  const around = realpathSync(mkdtempSync(join(tmpdir(), "fermata-web-")));
  onTestFinished(() => rmSync(around, { recursive: true }));
  const web = join(around, "web");
  mkdirSync(join(web, "assets"), { recursive: true });
  mkdirSync(join(web, ".git"));
  writeFileSync(join(around, "secret.txt"), "SECRET");
  writeFileSync(join(web, "index.html"), INDEX);
  writeFileSync(join(web, "assets", "app-4f3a2b1c.js"), "app()");
  writeFileSync(join(web, "assets", "a b.txt"), "in it");
  writeFileSync(join(web, ".env"), "SECRET");
  writeFileSync(join(web, ".git", "config"), "SECRET");
  symlinkSync("assets/a b.txt", join(web, "inner.txt"));
  symlinkSync(".env", join(web, "hidden.txt"));
  symlinkSync("../secret.txt", join(web, "outer.txt"));
  symlinkSync("..", join(web, "up"));
  symlinkSync("/proc/self", join(web, "proc"));
  return { around, web };
}

async function serveWeb(options: Partial<ServerOptions> = {}) {
  const { web, around } = folders();
  const folder = await WebFolder.open(web);
  if (folder === null) throw new Error("it has its index");
  const routes = [answering("/api", async () => json(200, { api: true }))];
  const server = await serve(routes, options, { pages: folder });
  const get = async (path: string, headers: Question["headers"] = {}, method = "GET") => {
    const { status, headers: sent, text } = await server.ask(path, { method, headers });
    return { status, headers: sent, text };
  };
  return { server, get, web, around };
}

describe("a folder of a web client", () => {
  it("needs an index.html to begin with, which the server can read", async () => {
    const { web, around } = folders();
    expect(await WebFolder.open(around)).toBeNull();
    expect(await WebFolder.open(join(around, "none"))).toBeNull();
    expect(await WebFolder.open(web)).not.toBeNull();
    renameSync(join(web, "index.html"), join(around, "index.html"));
    symlinkSync("../index.html", join(web, "index.html"));
    expect(await WebFolder.open(web)).toBeNull();
  });

  it("is served at / without a token, while the API wants one", async () => {
    const { get } = await serveWeb({ token: TOKEN });
    expect(await get("/")).toMatchObject({ status: 200, text: INDEX });
    expect(await get("/index.html")).toMatchObject({ status: 200, text: INDEX });
    expect(await get("/assets/app-4f3a2b1c.js")).toMatchObject({ status: 200, text: "app()" });
    expect((await get("/api", BROWSER)).status).toBe(401);
    expect((await get("/nothing.js")).status).toBe(401);
  });

  it("gives each file its type, version and time to be kept", async () => {
    const { get, web } = await serveWeb();
    const asset = await get("/assets/app-4f3a2b1c.js");
    expect(asset.headers).toMatchObject({
      "content-type": "text/javascript; charset=utf-8",
      "content-length": "5",
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
    });
    const index = await get("/");
    expect(index.headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
    });
    // Only a name with a hash says that its file never changes.
    for (const name of ["component-registration.js", "app.js", "index.html"]) {
      writeFileSync(join(web, "assets", name), "");
      expect((await get(`/assets/${name}`)).headers["cache-control"]).toBe("no-cache");
    }
    expect((await get("/inner.txt")).headers["cache-control"]).toBe("no-cache");
    const head = await get("/assets/app-4f3a2b1c.js", {}, "HEAD");
    expect(head).toMatchObject({ status: 200, text: "", headers: { etag: asset.headers.etag } });
  });

  it("is not sent again to a browser that has it, until it changes", async () => {
    const { get, web } = await serveWeb();
    const { etag = "" } = (await get("/")).headers;
    const known = { "if-none-match": `"x", ${etag.replace("W/", "")}` };
    expect(await get("/", known)).toMatchObject({ status: 304, text: "", headers: { etag } });
    // As when a package is installed again: another text of the same size and the same time.
    const old = new Date(0);
    utimesSync(join(web, "index.html"), old, old);
    const { etag: fixed = "" } = (await get("/")).headers;
    writeFileSync(join(web, "new"), INDEX.replace("one()", "two()"));
    utimesSync(join(web, "new"), old, old);
    renameSync(join(web, "new"), join(web, "index.html"));
    const changed = await get("/", { "if-none-match": fixed });
    expect(changed.status).toBe(200);
    expect(changed.text).toContain("two()");
  });

  it("lets only the inline scripts of its pages run, and nothing load from elsewhere", async () => {
    const { get } = await serveWeb();
    const policy = String((await get("/")).headers["content-security-policy"]);
    const hash = createHash("sha256").update("one()").digest("base64");
    expect(policy).toContain(`script-src 'self' 'unsafe-eval' 'sha256-${hash}';`);
    expect(policy).toContain("default-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/script-src[^;]*unsafe-inline|https?:|\*/);
  });
});

describe("paths", () => {
  it("of the API come first, and then those of files", async () => {
    const { get, web } = await serveWeb();
    writeFileSync(join(web, "api"), "no api");
    expect(bodyOf({ ...(await get("/api", BROWSER)) })).toEqual({ api: true });
  });

  it("that a person opens and that are no files lead to the client itself", async () => {
    const { get } = await serveWeb();
    for (const path of ["/session/4f3a", "/a/b/c?d=/..", "/assets", "/assets/gone.js"]) {
      expect(await get(path, BROWSER)).toMatchObject({ status: 200, text: INDEX });
      expect(await get(path)).toMatchObject({ status: 404 });
    }
  });

  it.each([
    "/../secret.txt",
    "/assets/../../secret.txt",
    "/..%2fsecret.txt",
    "/%2e%2e/secret.txt",
    "/%2e%2e%2fsecret.txt",
    "/.%2e/secret.txt",
    "/..%5csecret.txt",
    "/assets%2f..%2f..%2fsecret.txt",
    "/assets/..%252f..%252fsecret.txt",
    "//secret.txt",
    "//../secret.txt",
    "/%2fetc/passwd",
    "/%2Fetc%2Fpasswd",
    "/etc/passwd",
    "/index.html%00",
    "/index.html%00.txt",
    "/%00",
    "/%",
    "/%c0%ae%c0%ae/secret.txt",
    "/outer.txt",
    "/up/secret.txt",
    "/up/web/index.html/../../secret.txt",
    "/proc/environ",
    "/.env",
    "/%2eenv",
    "/hidden.txt",
    "/.git/config",
    "/.git%2fconfig",
    "/./.env",
    "/assets/./../.env",
    `/${"a/".repeat(2_000)}`,
    `/${"a".repeat(5_000)}`,
  ])("lead to no file outside, hidden or odd: %s", async (path) => {
    const { get } = await serveWeb();
    const asked = await get(path);
    expect([400, 404]).toContain(asked.status);
    const opened = await get(path, BROWSER);
    expect(opened.text).not.toMatch(/SECRET|root:|PATH=/);
    expect([INDEX, "{"].some((start) => opened.text.startsWith(start))).toBe(true);
  });

  it.each(["/assets%2fa%20b.txt", "//index.html", "/assets//a%20b.txt", "/a/../index.html", "/."])(
    "are names, one below the other, and %s is not",
    async (path) => {
      const { get } = await serveWeb();
      expect((await get(path, BROWSER)).status).toBe(404);
    },
  );

  it("may lead through a link within the folder, and have blanks", async () => {
    const { get } = await serveWeb();
    expect(await get("/inner.txt")).toMatchObject({ status: 200, text: "in it" });
    expect(await get("/assets/a%20b.txt")).toMatchObject({ status: 200, text: "in it" });
  });
});

describe("P10: the files of a web client", () => {
  it("count as reads", async () => {
    const { get } = await serveWeb({ rateLimit: { read: 1 } });
    const statuses = [(await get("/")).status, (await get("/")).status];
    expect(statuses).toEqual([200, 429]);
  });

  it("are sent to so many at a time, however slowly those read", async () => {
    const { server, web, get } = await serveWeb();
    writeFileSync(join(web, "large.bin"), Buffer.alloc(32 * 1_024 * 1_024));
    const slow = Array.from({ length: CONNECTIONS_OF_WEB_FILES_MAX }, () => {
      const socket = connect(server.port, "127.0.0.1").pause();
      onTestFinished(() => void socket.destroy());
      socket.write(`GET /large.bin HTTP/1.1\r\nHost: localhost:${server.port}\r\n\r\n`);
      return socket;
    });
    await expect.poll(async () => (await get("/inner.txt")).status, { timeout: 60_000 }).toBe(503);
    expect((await get("/api")).status).toBe(200);
    for (const socket of slow) socket.destroy();
    await expect.poll(async () => (await get("/inner.txt")).status, { timeout: 60_000 }).toBe(200);
  }, 150_000);

  itWhere(noHandles, "are closed when they have been sent, or are not to be sent", async () => {
    const { get, web } = await serveWeb({ rateLimit: { read: 3 } });
    const warnings = vi.fn<(warning: Error) => void>();
    process.on("warning", warnings);
    onTestFinished(() => void process.off("warning", warnings));
    const { etag = "" } = (await get("/")).headers;
    await get("/", {}, "HEAD");
    expect((await get("/", { "if-none-match": etag })).status).toBe(304);
    expect((await get("/")).status).toBe(429);
    await expect.poll(() => openFilesIn(web), { timeout: 60_000 }).toEqual([]);
    // Node closes what is forgotten, too, but not without saying so.
    expect(warnings).not.toHaveBeenCalled();
  });

  it("break off if they become shorter, so that no part passes for the whole", async () => {
    const { server, web } = await serveWeb();
    writeFileSync(join(web, "large.bin"), Buffer.alloc(32 * 1_024 * 1_024));
    const response = await fetch(`http://127.0.0.1:${server.port}/large.bin`);
    writeFileSync(join(web, "large.bin"), "short");
    await expect(response.arrayBuffer()).rejects.toThrow();
  });
});

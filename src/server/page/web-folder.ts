import { createHash } from "node:crypto";
import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, realpath } from "node:fs/promises";
import { extname, join, parse, relative } from "node:path";
import { WorkspaceError } from "../../agent/workspace/errors.ts";
import { locate, openInside } from "../../agent/workspace/location.ts";
import { WEB_PAGE_BYTES_MAX, WEB_PIECE_BYTES_MAX } from "../../core/limits.ts";
import { type Answer, type AnswerHeaders, file, notModified } from "../http/answer.ts";
import type { BrowserRequest } from "../http/page-gate.ts";

const INDEX = ["index.html"];

/**
 * The static files of a web client. It never leaves its folder: each path is followed link by link,
 * and where the open file really is decides. Names that begin with a dot are not there.
 */
export class WebFolder {
  readonly #root: string;

  private constructor(root: string) {
    this.#root = root;
  }

  /** Null if there is no `index.html` to begin with. */
  static async open(path: string): Promise<WebFolder | null> {
    const folder = new WebFolder(await realpath(path).catch(() => path));
    const index = await folder.#open(INDEX);
    await index?.close();
    return index === null ? null : folder;
  }

  /**
   * The file at the path, or `index.html` where a person opens a path that is none: the client's
   * own script then knows what to show. Null if there is nothing, or nothing to be told of.
   */
  async find({ segments, isNavigation, ifNoneMatch }: BrowserRequest): Promise<Answer | null> {
    if (segments === null || !segments.every(isName)) return null;
    const path = segments.length === 0 ? INDEX : segments;
    const named = await this.#open(path);
    if (named !== null) return answerOf(named, path, ifNoneMatch);
    const index = isNavigation ? await this.#open(INDEX) : null;
    return index === null ? null : answerOf(index, INDEX, ifNoneMatch);
  }

  async #open(path: readonly string[]): Promise<FileHandle | null> {
    try {
      const isHidden = (real: string) => !relative(this.#root, real).split("/").every(isShown);
      const { scope, real, stats, missing } = await locate(this.#root, join(...path), isHidden);
      if (missing.length > 0 || !stats.isFile()) return null;
      return await openInside(scope, real, constants.O_RDONLY);
    } catch (thrown) {
      if (thrown instanceof WorkspaceError || isUnreadable(thrown)) return null;
      throw thrown;
    }
  }
}

/** One name of a path. An encoded slash is no part of a name, and a dot may lead elsewhere. */
function isName(segment: string): boolean {
  return segment !== "" && isShown(segment) && !/[/\\\0]/.test(segment);
}

function isShown(name: string): boolean {
  return !name.startsWith(".");
}

/** The file is gone, or closed to the server: for a browser it is not there. */
function isUnreadable(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && UNREADABLE.has(String(thrown.code));
}

const UNREADABLE: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "EACCES", "EPERM", "ELOOP"]);

/** The handle is closed when the answer has been sent, or will not be. */
async function answerOf(
  handle: FileHandle,
  path: readonly string[],
  ifNoneMatch: string | null,
): Promise<Answer> {
  const close = () => void handle.close().catch(() => {});
  try {
    const stats = await handle.stat({ bigint: true });
    const size = Number(stats.size);
    const mediaType = MEDIA_TYPES[extname(path.at(-1) ?? "").toLowerCase()] ?? UNKNOWN_TYPE;
    const version = versionOf(stats);
    const isPage = mediaType === MEDIA_TYPES[".html"];
    const headers = {
      ...(isPage ? headersOfPage(await inlineScripts(handle, size)) : headersOfPage([])),
      ETag: version,
      "Cache-Control": isNamedByContent(path) ? FOREVER : "no-cache",
    };
    if (hasVersion(ifNoneMatch, version)) {
      close();
      return notModified(headers);
    }
    const whole = { ...headers, "Content-Length": `${size}` };
    return { ...file(mediaType, piecesOf(handle, size), whole), afterwards: close };
  } catch (thrown) {
    close();
    throw thrown;
  }
}

async function* piecesOf(handle: FileHandle, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < size; ) {
    const length = Math.min(WEB_PIECE_BYTES_MAX, size - at);
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, at);
    if (bytesRead === 0) throw new Error("a file of --web became shorter while it was sent");
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/**
 * Which version of a file this is. Packages come with one fixed time of change for all their files,
 * and a new `index.html` often has the size of the old one. So the change of the inode counts,
 * which no package sets.
 */
function versionOf({ ino, size, ctimeNs }: BigIntStats): string {
  return `W/"${ino.toString(36)}-${size.toString(36)}-${ctimeNs.toString(36)}"`;
}

function hasVersion(ifNoneMatch: string | null, version: string): boolean {
  const versions =
    ifNoneMatch?.split(",").map((one) => one.trim().replace(/^(?:W\/)?/, "W/")) ?? [];
  return versions.includes(version) || ifNoneMatch?.trim() === "*";
}

const FOREVER = "public, max-age=31536000, immutable";

/** Whether a build tool put a hash of the content into the name, as `assets/index-C0YFCwlu.js`. */
function isNamedByContent(path: readonly string[]): boolean {
  const { name } = parse(path.at(-1) ?? "");
  const [, hash = ""] = /[.-]([\w-]{8}|\w{9,64})$/.exec(name) ?? [];
  return path[0] === "assets" && /\d/.test(hash) && /[a-z]/i.test(hash);
}

/**
 * The script of a client runs with the rights of its user, and shows what agents wrote. So it may
 * load and send nothing elsewhere, no other page may frame it, and of inline scripts only those run
 * that its page came with.
 */
function headersOfPage(scripts: readonly string[]): AnswerHeaders {
  const policy = [
    "default-src 'self'",
    ["script-src 'self' 'unsafe-eval'", ...scripts].join(" "),
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "media-src 'self' data: blob:",
    "worker-src 'self' blob:",
    "frame-src 'self' blob:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ];
  return { "Content-Security-Policy": policy.join("; "), "Referrer-Policy": "no-referrer" };
}

/** The hashes of a page's inline scripts, as a policy names them. In a larger page none may run. */
async function inlineScripts(handle: FileHandle, size: number): Promise<readonly string[]> {
  if (size > WEB_PAGE_BYTES_MAX) return [];
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(size), 0, size, 0);
  // Browsers see each line end as one character, and no script inside a comment.
  const page = buffer.subarray(0, bytesRead).toString().replaceAll(/\r\n?/g, "\n");
  const scripts = page.matchAll(/<!--.*?-->|<script(?:\s[^>]*)?>(.*?)<\/script\s*>/gis);
  const texts = new Set(
    [...scripts].map(([, script = ""]) => script).filter((text) => text !== ""),
  );
  return [...texts].map((text) => {
    return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  });
}

const UNKNOWN_TYPE = "application/octet-stream";

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".avif": "image/avif",
  ".css": "text/css; charset=utf-8",
  ".gif": "image/gif",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".map": "application/json; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".mp3": "audio/mpeg",
  ".mp4": "video/mp4",
  ".otf": "font/otf",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".ttf": "font/ttf",
  ".txt": "text/plain; charset=utf-8",
  ".wasm": "application/wasm",
  ".webm": "video/webm",
  ".webmanifest": "application/manifest+json",
  ".webp": "image/webp",
  ".woff": "font/woff",
  ".woff2": "font/woff2",
  ".xml": "application/xml",
};

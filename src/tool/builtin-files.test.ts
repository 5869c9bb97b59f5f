import { existsSync, linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { OwnFolders } from "../agent/workspace/location.ts";
import { TOOL_ANSWER_CHARS_MAX } from "../core/limits.ts";
import { type BuiltinTool, fileTools } from "./builtin.ts";
import type { ToolContext } from "./tool.ts";
import { FOREVER, newWorld } from "./workspace.fixture.ts";

const [READ_FILE, WRITE_FILE] = fileTools(OwnFolders.NONE);

/** Says these words to a tool, and runs what they come to. */
async function said(tool: BuiltinTool, words: string, place: ToolContext, signal = FOREVER) {
  const call = tool.callOf(words, place);
  if (!call.ok) return call.refusal;
  return tool.run(call.value.input, place, signal);
}

describe("read_file", () => {
  it("takes a path, or an object that says which lines", async () => {
    const { place } = await newWorld();
    writeFileSync(join(place.cwd, "a b.txt"), "one\ntwo\nthree\n");
    expect(await said(READ_FILE, " a b.txt ", place)).toEqual({
      isError: false,
      text: "one\ntwo\nthree\n",
    });
    const some = '{"path": "a b.txt", "line": 2, "limit": 1}';
    expect(await said(READ_FILE, some, place)).toEqual({ isError: false, text: "two\n" });
  });

  it("is a call of kind read that names the file by its whole path", async () => {
    const { place } = await newWorld();
    const at = { ...place, cwd: join(place.cwd, "src") };
    const call = READ_FILE.callOf("../a.txt", at);
    expect(call).toMatchObject({
      value: {
        kind: "read",
        title: "Read ../a.txt",
        locations: [{ path: join(place.cwd, "a.txt") }],
        input: { path: "../a.txt" },
      },
    });
  });

  it("reads where the session is, and not where the workspace begins", async () => {
    const { place } = await newWorld();
    writeFileSync(join(place.cwd, "src", "a.txt"), "inner");
    const at = { ...place, cwd: join(place.cwd, "src") };
    expect(await said(READ_FILE, "a.txt", at)).toEqual({ isError: false, text: "inner" });
  });

  it("cuts what is too long, and says how much is missing", async () => {
    const { place } = await newWorld();
    writeFileSync(join(place.cwd, "long"), "x".repeat(TOOL_ANSWER_CHARS_MAX + 7));
    const { text } = { text: "", ...(await said(READ_FILE, "long", place)) };
    expect(text).toMatch(/^x+\n\[7 more characters were left out\]$/);
    expect(text.length).toBeLessThan(TOOL_ANSWER_CHARS_MAX + 100);
  });

  it.each([
    ["climbs out", "../outside/secret"],
    ["is absolute and elsewhere", "/etc/passwd"],
    ["goes through a link", "link/secret"],
    ["is a link itself", "direct"],
    ["is a window of the kernel", "/proc/self/environ"],
  ])("refuses a path that %s, and tells nothing of it", async (_, path) => {
    const { place, outside } = await newWorld();
    writeFileSync(join(outside, "secret"), "SECRET");
    symlinkSync(outside, join(place.cwd, "link"));
    symlinkSync(join(outside, "secret"), join(place.cwd, "direct"));
    const answer = await said(READ_FILE, path, place);
    expect(answer).toMatchObject({
      isError: true,
      text: expect.stringMatching(/not inside the workspace/),
    });
    expect(JSON.stringify(answer)).not.toContain("SECRET");
  });

  it.each([
    ["", /path: it is empty/],
    ["a\0b", /path: it holds a NUL character/],
    ['{"path": 7}', /path: .*string/],
    ['{"path": "a", "line": 0}', /line: /],
    ['{"path": "a", "lines": 1}', /lines/],
    ["{}", /path/],
  ])("refuses %j as input", async (words, reason) => {
    const { place } = await newWorld();
    expect(await said(READ_FILE, words, place)).toMatchObject({
      code: "tool_input_invalid",
      details: { tool: "read_file", reason: expect.stringMatching(reason) },
    });
  });

  it("answers with an error for what is not there or is no file, bad JSON included", async () => {
    const { place } = await newWorld();
    for (const words of ["missing", "src", '{"path": "a']) {
      expect(await said(READ_FILE, words, place)).toMatchObject({ isError: true });
    }
  });
});

describe("write_file", () => {
  it("takes a path and, after one space, the content as it is", async () => {
    const { place } = await newWorld();
    const answer = await said(WRITE_FILE, "src/new/a.txt  two  spaces\nand a line\n", place);
    expect(answer).toEqual({ isError: false, text: "Wrote 24 bytes to src/new/a.txt." });
    const written = readFileSync(join(place.cwd, "src/new/a.txt"), "utf8");
    expect(written).toBe(" two  spaces\nand a line\n");
  });

  it("takes an object, for a path with spaces or an empty file", async () => {
    const { place } = await newWorld();
    const answer = await said(WRITE_FILE, '{"path": "a b", "content": ""}', place);
    expect(answer).toMatchObject({ isError: false });
    expect(readFileSync(join(place.cwd, "a b"), "utf8")).toBe("");
  });

  it("is a call of kind edit that names the file by its whole path", async () => {
    const { place } = await newWorld();
    expect(WRITE_FILE.callOf("src/../b x", place)).toMatchObject({
      value: { kind: "edit", locations: [{ path: join(place.cwd, "b") }] },
    });
  });

  it("does not take a path alone for the wish to empty the file", async () => {
    const { place } = await newWorld();
    writeFileSync(join(place.cwd, "a.txt"), "kept");
    const refused = await said(WRITE_FILE, "a.txt", place);
    expect(refused).toMatchObject({ code: "tool_input_invalid" });
    expect(readFileSync(join(place.cwd, "a.txt"), "utf8")).toBe("kept");
  });

  it.each(["../outside/a", "link/a", "direct"])("writes nothing by way of %s", async (path) => {
    const { place, outside } = await newWorld();
    writeFileSync(join(outside, "old"), "old");
    symlinkSync(outside, join(place.cwd, "link"));
    symlinkSync(join(outside, "old"), join(place.cwd, "direct"));
    expect(await said(WRITE_FILE, `${path} new`, place)).toMatchObject({ isError: true });
    expect(existsSync(join(outside, "a"))).toBe(false);
    expect(readFileSync(join(outside, "old"), "utf8")).toBe("old");
  });

  it("leaves the other names of a file as they were", async () => {
    const { place, outside } = await newWorld();
    mkdirSync(join(place.cwd, "pkg"));
    writeFileSync(join(outside, "shared"), "shared");
    linkSync(join(outside, "shared"), join(place.cwd, "pkg", "file"));
    await said(WRITE_FILE, "pkg/file mine", place);
    expect(readFileSync(join(outside, "shared"), "utf8")).toBe("shared");
  });

  it("writes nothing that was called off before", async () => {
    const { place } = await newWorld();
    const answer = await said(WRITE_FILE, "a b", place, AbortSignal.abort());
    expect(answer).toEqual({ isError: true, text: "It was cancelled." });
    expect(existsSync(join(place.cwd, "a"))).toBe(false);
  });
});

describe("P8: what the server keeps for itself", () => {
  it("is neither read nor written, though it is in the workspace", async () => {
    const { place } = await newWorld();
    const data = join(place.cwd, "data");
    mkdirSync(data);
    writeFileSync(join(data, "other.db"), "SECRET");
    const [read, write] = fileTools(await OwnFolders.at([data], []));
    const outside = { isError: true, text: expect.stringMatching(/not inside the workspace/) };
    expect(await said(read, "data/other.db", place)).toMatchObject(outside);
    expect(await said(write, "data/other.db mine", place)).toMatchObject(outside);
    expect(readFileSync(join(data, "other.db"), "utf8")).toBe("SECRET");
  });
});

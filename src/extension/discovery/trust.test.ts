import { chmod, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EXTENSIONS_TRUSTED_MAX } from "../../core/limits.ts";
import { TrustList } from "./trust.ts";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "trust-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const path = () => join(folder, "home", "trusted.json");

function codeOf(n: number, extension = "notes") {
  return { hash: n.toString(16).padStart(64, "0"), extension, folder: "/x", atMs: n };
}

describe("the list of trusted code", () => {
  it("is empty before there is one, and is the operator's alone from then on", async () => {
    const list = new TrustList(path());
    expect(await list.read()).toEqual({ ok: true, value: [] });
    await list.add(codeOf(1));
    await list.add(codeOf(2, "todo"));
    await list.add({ ...codeOf(1), atMs: 3 });
    expect(await new TrustList(path()).read()).toEqual({
      ok: true,
      value: [codeOf(2, "todo"), { ...codeOf(1), atMs: 3 }],
    });
    expect((await stat(path())).mode & 0o777).toBe(0o600);
    await list.remove("notes");
    expect(await list.read()).toEqual({ ok: true, value: [codeOf(2, "todo")] });
    expect(await readdir(join(folder, "home"))).toEqual(["trusted.json"]);
  });

  it.each<[string, string, number, string]>([
    ["is no JSON", "{", 0o600, "it is not JSON"],
    ["is of another form", '{"trusted":[{"hash":"all"}]}', 0o600, "it is not of its form"],
    ["can be written by others", '{"trusted":[]}', 0o620, "others can write it"],
  ])("is not believed, and not changed, if it %s", async (_, text, mode, reason) => {
    const file = join(folder, "list.json");
    await writeFile(file, text);
    await chmod(file, mode);
    const list = new TrustList(file);
    const refused = {
      ok: false,
      refusal: { code: "extension_trust_unreadable", details: { path: file, reason } },
    };
    expect(await list.read()).toEqual(refused);
    expect(await list.add(codeOf(1))).toEqual(refused);
  });

  it("P10: forgets the oldest when it is full", async () => {
    const list = new TrustList(path());
    await list.add(codeOf(1));
    const all = Array.from({ length: EXTENSIONS_TRUSTED_MAX }, (_, n) => codeOf(n + 1));
    await writeFile(path(), JSON.stringify({ trusted: all }));
    await list.add(codeOf(EXTENSIONS_TRUSTED_MAX + 1));
    const read = await list.read();
    expect(read.ok && read.value.length).toBe(EXTENSIONS_TRUSTED_MAX);
    expect(read.ok && read.value[0]).toEqual(codeOf(2));
  });
});

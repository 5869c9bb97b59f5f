import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EXTENSION_CODE_BYTES_MAX, EXTENSIONS_FOUND_MAX } from "../../core/limits.ts";
import { manifestOf } from "../manifest.fixture.ts";
import { readCode } from "./code.ts";
import { discover, type ExtensionLocations, moduleOf } from "./discovery.ts";
import { TrustList } from "./trust.ts";

let root = "";

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "discovery-"));
});

afterEach(() => rm(root, { recursive: true, force: true }));

const trust = () => new TrustList(join(root, "trusted-extensions.json"));

async function write(path: string, text: string) {
  const file = join(root, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}

/** Puts an extension into a folder. */
async function extensionAt(folder: string, id: string, change: object = {}) {
  await write(`${folder}/extension.json`, JSON.stringify({ ...manifestOf(id), ...change }));
  await write(`${folder}/index.js`, "export default () => ({})");
}

/** What is found, and the code of the refusal of what is not, by source and id. */
async function looked(places: Partial<ExtensionLocations> = {}) {
  const at = (name: string) => join(root, name);
  const { found, refused } = await discover({
    places: {
      bundled: at("bundled"),
      home: at("home"),
      workspace: at("workspace"),
      packages: [],
      ...places,
    },
    trust: trust(),
    coreVersion: "0.1.0",
  });
  return {
    found,
    refused,
    names: found.map(({ source, manifest }) => `${source} ${manifest.id}`),
    reasons: refused.map(({ source, id, why }) => {
      const reason = why.details.reason ?? "";
      return `${source} ${id}: ${why.code} ${reason}`.trim();
    }),
  };
}

/** Trusts what is refused for want of trust. */
async function trustAll() {
  for (const { hash, id, folder } of (await looked()).refused) {
    if (hash !== null) await trust().add({ hash, extension: id, folder, atMs: 1 });
  }
}

describe("extensions", () => {
  it("are found in folders of folders, and none where there is no folder", async () => {
    expect(await looked()).toMatchObject({ found: [], refused: [] });
    await extensionAt("bundled/todo", "todo");
    await extensionAt("bundled/guard", "guard");
    await write("bundled/.hidden/extension.json", "{");
    await write("bundled/README.md", "no extension");
    expect((await looked()).names).toEqual(["bundled guard", "bundled todo"]);
  });

  it("of a package are in its own root, whatever that is called", async () => {
    await extensionAt("node_modules/@org/thing-2", "thing");
    const packages = [join(root, "node_modules/@org/thing-2")];
    expect((await looked({ packages })).reasons).toEqual(["package thing: extension_untrusted"]);
  });

  it.each<[string, object, string]>([
    [
      "has the name of another folder",
      { id: "other" },
      "its folder is called one; both must be the same",
    ],
    ["names a module that is not there", { main: "src/main.ts" }, "there is no file src/main.ts"],
    ["is a store", { kind: "store" }, "a store is named with --store"],
    [
      "is for another Fermata",
      { requiredCoreVersion: ">=9" },
      "it needs Fermata >=9, and this is 0.1.0; update the one or the other",
    ],
  ])("are refused if one %s", async (_, change, reason) => {
    await extensionAt("bundled/one", "one", change);
    const { names, refused } = await looked();
    expect(names).toEqual([]);
    expect(refused).toMatchObject([{ why: { code: "invalid_extension", details: { reason } } }]);
  });

  it("are refused if their folder is not whole: no manifest, no JSON, links, size", async () => {
    await write("bundled/a/index.js", "");
    await write("bundled/b/extension.json", "{ 'id': 1 }");
    await extensionAt("bundled/c", "c");
    await symlink("/etc/passwd", join(root, "bundled/c/more.js"));
    await extensionAt("bundled/d", "d");
    await write("bundled/d/large.bin", "x".repeat(EXTENSION_CODE_BYTES_MAX));
    expect((await looked()).refused.map(({ why }) => String(why.details.reason))).toEqual([
      "there is no such file",
      expect.stringContaining("it is not JSON: line 1"),
      "more.js: it is a link or no regular file",
      "large.bin: with it the extension has more than 16777216 bytes",
    ]);
  });
});

describe("a place of extensions", () => {
  it("has no links among its folders: their targets could be other code tomorrow", async () => {
    await extensionAt("elsewhere/linked", "linked");
    await mkdir(join(root, "home"));
    await symlink(join(root, "elsewhere/linked"), join(root, "home/linked"));
    const { names, reasons } = await looked();
    expect(names).toEqual([]);
    expect(reasons).toEqual([
      "home linked: invalid_extension it is a link, whose target may be other code tomorrow; " +
        "put the folder itself here",
    ]);
  });

  it("is told of if it cannot be looked into, or has more than a place of extensions", async () => {
    await write("home", "a file");
    for (let n = 0; n <= EXTENSIONS_FOUND_MAX; n += 1) {
      await mkdir(join(root, `workspace/e${n}`), { recursive: true });
    }
    const { names, refused } = await looked();
    expect(names).toEqual([]);
    expect(refused.map(({ id, why }) => `${id}: ${why.details.reason}`)).toEqual([
      "home: a part of its path is a file; check its path",
      `workspace: it has more than ${EXTENSIONS_FOUND_MAX} folders; move some away`,
    ]);
  });
});

describe("an extension with the id of another", () => {
  it("stays if it is nearer to the operator, so that a workspace replaces no guard", async () => {
    for (const place of ["bundled", "home", "workspace"])
      await extensionAt(`${place}/guard`, "guard");
    const { names, reasons } = await looked();
    expect(names).toEqual(["bundled guard"]);
    const reason = `the extension in ${join(root, "bundled/guard")} (bundled) has this id, too`;
    expect(reasons).toEqual([
      `home guard: invalid_extension ${reason}`,
      `workspace guard: invalid_extension ${reason}`,
    ]);
  });

  it("is refused with it if both are of one source", async () => {
    await extensionAt("p1", "twin");
    await extensionAt("p2", "twin");
    const { names, reasons } = await looked({ packages: [join(root, "p1"), join(root, "p2")] });
    expect(names).toEqual([]);
    expect(reasons).toHaveLength(2);
  });
});

describe("code that is not bundled", () => {
  beforeEach(() => extensionAt("workspace/notes", "notes"));

  it("is refused until its content is trusted, and again when any of it changes", async () => {
    expect((await looked()).reasons).toEqual(["workspace notes: extension_untrusted"]);
    await trustAll();
    expect((await looked()).names).toEqual(["workspace notes"]);
    for (const path of ["index.js", "extension.json", "lib/new.js"]) {
      const before = await readFile(join(root, "workspace/notes", path), "utf8").catch(() => null);
      await write(`workspace/notes/${path}`, `${before ?? ""} `);
      expect((await looked()).reasons).toEqual(["workspace notes: extension_untrusted"]);
      if (before === null) await rm(join(root, "workspace/notes", path));
      else await write(`workspace/notes/${path}`, before);
      expect((await looked()).names).toEqual(["workspace notes"]);
    }
    await trust().remove("notes");
    expect((await looked()).reasons).toEqual(["workspace notes: extension_untrusted"]);
  });

  it("is not mistaken for other code with the same bytes in other files", async () => {
    await write("one/ab", "c");
    await write("two/a", "bc");
    const hashes = await Promise.all(["one", "two"].map((name) => readCode(join(root, name))));
    expect(hashes[0]?.code?.hash).not.toBe(hashes[1]?.code?.hash);
  });

  it("runs from a copy of what was trusted, and not from where it was found", async () => {
    await trustAll();
    const [found] = (await looked()).found;
    if (found === undefined) return expect.unreachable("it is trusted");
    const below = join(root, "copies");
    const module = await moduleOf(found, below);
    if (!module.ok) return expect.unreachable(module.refusal.code);
    expect(fileURLToPath(module.value)).toBe(join(below, found.hash, "index.js"));
    // Damage to the copy is repaired, and nothing is left beside it.
    await writeFile(fileURLToPath(module.value), "damaged");
    expect(await moduleOf(found, below)).toEqual(module);
    expect(await readFile(fileURLToPath(module.value), "utf8")).toBe("export default () => ({})");
    expect((await readdir(below)).sort()).toEqual([found.hash, "package.json"].sort());
  });

  it("is refused if an agent has edited it between the look and the load", async () => {
    await trustAll();
    const [found] = (await looked()).found;
    await write("workspace/notes/index.js", "evil()");
    expect(found && (await moduleOf(found, join(root, "copies")))).toMatchObject({
      ok: false,
      refusal: { code: "extension_untrusted", details: { extension: "notes" } },
    });
    await rm(join(root, "workspace/notes"), { recursive: true });
    expect(found && (await moduleOf(found, join(root, "copies")))).toMatchObject({ ok: false });
  });
});

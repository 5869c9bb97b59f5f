import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { SECRET_FILE_BYTES_MAX, SECRET_FILES_MAX } from "../../core/limits.ts";
import { holder, SecretFolder } from "./credential.fixture.ts";

const ADA = holder("acme", "ada");

describe("the folder of secrets", () => {
  it("has a user's own before the tenant's, and that before the one for all", async () => {
    const folder = new SecretFolder({
      "acme/ada/KEY": "of-ada\n",
      "acme/KEY": "of-acme",
      KEY: "all",
    });
    const valueFor = async (tenant: string, user: string | null) =>
      (await folder.files.find(holder(tenant, user), "KEY"))?.path;
    expect(await valueFor("acme", "ada")).toBe("acme/ada/KEY");
    expect(await valueFor("acme", "ben")).toBe("acme/KEY");
    expect(await valueFor("acme", null)).toBe("acme/KEY");
    expect(await valueFor("other", "ada")).toBe("KEY");
    expect(await folder.files.find(ADA, "OTHER")).toBeNull();
  });

  it("is without the newline of an editor, and with all else that is in the file", async () => {
    const folder = new SecretFolder({ "acme/KEY": "  two\nlines \r\n" });
    expect(await folder.files.find(ADA, "KEY")).toMatchObject({ value: "  two\nlines " });
  });

  it("P8: has no user whose id is a name of the platform", async () => {
    const folder = new SecretFolder({ "acme/..data/KEY": "of-no-one", "acme/%2E.data/KEY": "own" });
    const found = await folder.files.find(holder("acme", "..data"), "KEY");
    expect(found).toMatchObject({ path: "acme/%2E.data/KEY", value: "own" });
  });

  it.each<[string, string | Buffer, RegExp]>([
    ["is empty", "", /empty/],
    ["is a newline", "\n", /empty/],
    ["is huge", "x".repeat(SECRET_FILE_BYTES_MAX + 1), /more than 65536 bytes/],
    ["is no text", Buffer.from([0xff, 0xfe, 0x41]), /UTF-8/],
    ["has a NUL", "a\0b", /NUL/],
  ])("refuses a file that %s, and takes no other instead", async (_, value, reason) => {
    const folder = new SecretFolder({ "acme/KEY": "of-acme" });
    folder.put("acme/ada/KEY", value);
    const found = await folder.files.find(ADA, "KEY");
    expect(found).toMatchObject({ kind: "unusable", reason: expect.stringMatching(reason) });
    expect(found).toMatchObject({ path: "acme/ada/KEY" });
  });

  it("does not wait for a pipe, and takes a folder for no secret", async () => {
    const folder = new SecretFolder({ "acme/ada/other": "unused" });
    execFileSync("/usr/bin/mkfifo", [folder.at("acme/ada/KEY")]);
    expect(await folder.files.find(ADA, "KEY")).toMatchObject({ reason: "it is not a file" });
    mkdirSync(folder.at("acme/NAME"));
    expect(await folder.files.find(ADA, "NAME")).toBeNull();
  });

  it("follows links inside, as Kubernetes makes them", async () => {
    const folder = new SecretFolder({ "..2026_11/acme/ada/KEY": "of-ada" });
    symlinkSync("..2026_11", folder.at("..data"));
    symlinkSync("..data/acme", folder.at("acme"));
    expect(await folder.files.find(ADA, "KEY")).toMatchObject({ value: "of-ada" });
    expect(await folder.files.all()).toMatchObject([{ path: "acme/ada/KEY", value: "of-ada" }]);
  });

  it("P8: refuses links that lead out of it, of files and of folders", async () => {
    const outside = new SecretFolder({ "ada/KEY": "of-another", KEY: "of-another" });
    const folder = new SecretFolder({ "acme/other": "unused" });
    symlinkSync(outside.at("KEY"), folder.at("acme/KEY"));
    symlinkSync(outside.at("ada"), folder.at("acme/ada"));
    symlinkSync("LOOP", folder.at("acme/LOOP"));
    const reason = "it leads out of --secrets-dir";
    expect(await folder.files.find(ADA, "KEY")).toMatchObject({ path: "acme/ada/KEY", reason });
    expect(await folder.files.find(holder("acme", "ben"), "KEY")).toMatchObject({ reason });
    expect(await folder.files.find(ADA, "LOOP")).toMatchObject({
      reason: "its links lead in a circle",
    });
    const all = await folder.files.all();
    expect(all?.filter(({ kind }) => kind === "read")).toMatchObject([{ path: "acme/other" }]);
  });

  it("tells which files every user of the machine may read", async () => {
    const folder = new SecretFolder();
    folder.put("acme/ada/KEY", "of-ada", 0o644);
    const isExposed = async () => (await folder.files.find(ADA, "KEY")) ?? expect.fail();
    expect(await isExposed()).toMatchObject({ isExposed: true });
    chmodSync(folder.at("acme"), 0o700);
    expect(await isExposed()).toMatchObject({ isExposed: false });
    chmodSync(folder.at("acme"), 0o755);
    chmodSync(folder.at("acme/ada/KEY"), 0o640);
    expect(await isExposed()).toMatchObject({ isExposed: false });
  });

  it("P10: is listed whole, up to a number of files", async () => {
    const folder = new SecretFolder();
    for (let n = 0; n < SECRET_FILES_MAX; n += 1) folder.put(`t${n % 7}/u${n % 5}/K${n}`, "value");
    expect(await folder.files.all()).toHaveLength(SECRET_FILES_MAX);
    folder.put("t0/ONE_MORE", "value");
    expect(await folder.files.all()).toBeNull();
  });

  it("may vanish as a whole", async () => {
    const folder = new SecretFolder({ "acme/KEY": "of-acme" });
    rmSync(folder.root, { recursive: true });
    expect(await folder.files.find(ADA, "KEY")).toBeNull();
    expect(await folder.files.all()).toEqual([]);
  });
});

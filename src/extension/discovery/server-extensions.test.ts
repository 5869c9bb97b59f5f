import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseTenantId } from "../../core/id.ts";
import { ok } from "../../core/result.ts";
import { manifestOf } from "../manifest.fixture.ts";
import { readExtensionFile } from "./configuration.ts";
import { lookAt, moduleOf } from "./discovery.ts";
import { ServerExtensions } from "./server-extensions.ts";
import { TrustList } from "./trust.ts";

let root = "";

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "server-extensions-"));
});

afterEach(() => rm(root, { recursive: true, force: true }));

const TENANT = parseTenantId("acme") ?? expect.fail();

async function put(place: string, id: string, change: object = {}): Promise<string> {
  const folder = join(root, place, id);
  await mkdir(folder, { recursive: true });
  const manifest = JSON.stringify({ ...manifestOf(id), ...change });
  await writeFile(join(folder, "extension.json"), manifest);
  await writeFile(join(folder, "index.js"), "export default () => ({});");
  return folder;
}

async function trust(folder: string) {
  const found = await lookAt(folder, "0.1.0");
  if ("why" in found) return expect.fail(found.why.code);
  const { hash, manifest } = found;
  await moduleOf(found, join(root, "copies"));
  await list().add({ hash, extension: manifest.id, folder, atMs: 1 });
}

const list = () => new TrustList(join(root, "trusted.json"));

/** What the sessions of a trusted workspace have, and are to have and do not. */
async function chosen(configured: object, loadsWorkspaces = true) {
  const read = readExtensionFile(JSON.stringify(configured), "extensions.json");
  if (!read.ok) return expect.fail(JSON.stringify(read.refusal));
  const [bundled, home, copies] = ["bundled", "home", "copies"].map((name) => join(root, name));
  const rules = {
    configuration: read.value,
    ...{ bundled: bundled ?? "", home: home ?? "", copies: copies ?? "" },
    packageFolder: () => "there is none",
    trust: list(),
    coreVersion: "0.1.0",
  };
  const catalog = new ServerExtensions({
    rules,
    read: async () => ok(rules),
    loadsWorkspaces,
    isTrusted: async () => ok(true),
  });
  const place = { tenantId: TENANT, workspaceCwd: join(root, "workspace") };
  const { enabled, refused } = await catalog.of(place);
  return {
    enabled: enabled.map(({ manifest }) => manifest.id),
    refused: refused.map(({ id, why, isCritical, hooks }) => {
      return [id, why.code, isCritical, ...hooks].join(" ");
    }),
  };
}

const WORKSPACE = "workspace/.fermata/extensions";

describe("the extensions of a server's sessions", () => {
  it("are those that run, and those that were to and cannot", async () => {
    await put("bundled", "todo");
    await trust(await put("home", "notes"));
    await put(WORKSPACE, "local");
    expect(await chosen({ todo: {}, gone: { critical: true } })).toEqual({
      enabled: ["notes", "todo"],
      refused: ["gone extension_missing true", "local extension_untrusted false"],
    });
  });

  it("are not touched by a folder of a workspace with the id of a critical one", async () => {
    await put("bundled", "guard");
    await put(WORKSPACE, "guard", { version: "9.0.0" });
    const both = { enabled: ["guard"], refused: [] };
    expect(await chosen({ guard: { critical: true } })).toEqual(both);
  });

  it("are none of a workspace where agents write as a user of their own", async () => {
    await trust(await put(WORKSPACE, "local"));
    expect(await chosen({})).toEqual({ enabled: ["local"], refused: [] });
    expect(await chosen({}, false)).toEqual({ enabled: [], refused: [] });
  });

  it("P6: miss one that is gone by what it was asked, but not one of a workspace", async () => {
    const guards = { hooks: ["before_tool_call"] };
    for (const place of ["home", WORKSPACE]) {
      const folder = await put(place, place === "home" ? "guard" : "local", guards);
      await trust(folder);
      await rm(folder, { recursive: true });
    }
    expect(await chosen({ guard: {}, local: {} })).toEqual({
      enabled: [],
      refused: ["guard extension_missing false before_tool_call", "local extension_missing false"],
    });
  });

  it("leave out what depends on what is not there", async () => {
    await put("bundled", "notes", { dependsOn: { paper: "*" } });
    expect(await chosen({ notes: { critical: true } })).toEqual({
      enabled: [],
      refused: ["notes extension_dependency_missing true"],
    });
  });
});

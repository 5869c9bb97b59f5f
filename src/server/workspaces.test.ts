import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { OwnFolders } from "../agent/workspace/location.ts";
import { value } from "../store/kit/expect.ts";
import { memoryStore } from "../store/memory/store.ts";
import { HOST } from "../store/sample.fixture.ts";
import { ACME, OPERATOR } from "./identity/identity.fixture.ts";
import { type WorkspaceRules, Workspaces } from "./workspaces.ts";

/** Folders of these names, in one, and workspaces over a store of their own. */
async function opened(...names: readonly string[]) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "fermata-workspaces-")));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const name of ["own", ...names]) mkdirSync(join(folder, name), { recursive: true });
  const store = memoryStore();
  onTestFinished(async () => void (await store.dispose()));
  await value(store.init(HOST, { active: true }));
  await value(store.activate());
  const at = (name: string) => join(folder, name);
  const open = (rules: WorkspaceRules) => Workspaces.open(store, [at("own")], rules);
  return { at, open };
}

function adding(workspaces: Workspaces) {
  return async (cwd: string, isTrusted: boolean | null = null) => {
    const added = await workspaces.add(ACME, { cwd, isTrusted, by: OPERATOR, atMs: 0 });
    return added.ok ? added.value.cwd : added.refusal;
  };
}

describe("P8: a directory in which the server keeps its own files", () => {
  it("is no workspace, nor is one in it or around it, and its path is not told", async () => {
    const { at, open } = await opened("srv/data/tenants/other", "srv/data-2");
    symlinkSync(at("srv/data"), at("link"));
    const closed = await OwnFolders.at([at("home"), at("srv/data")], ["skills"]);
    const add = adding(await open({ closed }));
    const paths = ["srv/data", "srv/data/tenants/other", "srv/data/none", "srv", "link", "home"];
    for (const path of paths) {
      const refusal = await add(at(path));
      expect(refusal).toEqual({
        code: "invalid_workspace",
        details: { cwd: at(path), reason: "the server keeps files of its own there" },
      });
    }
    expect(await add("/")).toMatchObject({ code: "invalid_workspace" });
    expect(await add(at("srv/data-2"))).toBe(at("srv/data-2"));
  });

  it("is one if the server was started there, and only then goes on to be one", async () => {
    const { at, open } = await opened("own/data", "old/data");
    expect(await adding(await open({}))(at("old"))).toBe(at("old"));
    const closed = await OwnFolders.at([at("own/data"), at("old/data")], []);
    const workspaces = await open({ closed });
    expect(await adding(workspaces)(at("own"), false)).toBe(at("own"));
    expect(await value(workspaces.of(ACME))).toMatchObject([{ cwd: at("own"), isTrusted: false }]);
    expect(await workspaces.isTrusted(ACME, at("old"))).toEqual({ ok: true, value: false });
  });
});

describe("directories that the operator has opened", () => {
  it("have all workspaces that tenants may add, wherever links lead", async () => {
    const { at, open } = await opened("teams/a", "teams-2", "other/b");
    symlinkSync(at("other/b"), at("teams/away"));
    symlinkSync(at("teams"), at("way-in"));
    const add = adding(await open({ roots: [at("way-in")] }));
    expect(await add(at("teams/a"))).toBe(at("teams/a"));
    expect(await add(at("way-in/a"))).toBe(at("teams/a"));
    expect(await add(at("own"))).toBe(at("own"));
    for (const path of ["other/b", "teams/away", "teams-2", "teams/../other/b"]) {
      expect(await add(at(path))).toMatchObject({ code: "invalid_workspace" });
    }
  });

  it("tell nothing of what is elsewhere, not even whether it is there", async () => {
    const { at, open } = await opened("teams", "other");
    const add = adding(await open({ roots: [at("teams")] }));
    const said = [await add(at("other")), await add(at("none!"))];
    const texts = said.map((one) => JSON.stringify(one).replace(/other|none!/, ""));
    expect(texts[0]).toBe(texts[1]);
  });
});

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseTenantId } from "../../core/id.ts";
import { ok } from "../../core/result.ts";
import { TrustList } from "../discovery/trust.ts";
import { ServerWorkflows } from "./server-workflows.ts";
import { readWorkflowFile } from "./workflow-file.ts";

const NO_MODULES = { list: async () => [], find: async () => null, open: async () => null };

const TENANT = parseTenantId("local") ?? expect.fail();

const textOf = (name: string, body = "Do it.") =>
  `name: ${name}\ndescription: One stage\nstages:\n  - id: only\n    body: ${body}\n`;

/** The folders of an operator with a workspace. */
function made({ isTrusted = true, loadsWorkspaces = true } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "fermata-workflows-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const write = (path: string, text: string) => {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  const list = new TrustList(join(folder, "trusted.json"));
  const catalog = new ServerWorkflows({
    bundled: join(folder, "bundled"),
    home: join(folder, "home"),
    trust: list,
    modules: NO_MODULES,
    loadsWorkspaces,
    isTrusted: async () => ok(isTrusted),
  });
  const place = { tenantId: TENANT, workspaceCwd: join(folder, "work") };
  mkdirSync(place.workspaceCwd);
  const trust = (text: string) => {
    const { hash } = readWorkflowFile(text);
    return list.add({ hash, extension: "own.yaml", folder, atMs: 0 });
  };
  return { folder, write, catalog, place, trust, list };
}

const OWN = "work/.fermata/workflows/own.yaml";

const HOST = {
  tenantId: TENANT,
  session: { sessionId: "s", workspaceCwd: "/", isResumed: false },
  run: async () => ok({ exitCode: 0, output: "" }),
  log: () => {},
};

describe("the workflows of a server", () => {
  it("are the bundled ones, the operator's, and trusted ones of the workspace", async () => {
    const { write, catalog, place, trust } = made();
    write("bundled/first.yaml", textOf("first"));
    write("home/second.yaml", textOf("second"));
    write(OWN, textOf("own"));
    await trust(textOf("own"));
    expect(await catalog.list(place)).toEqual([
      { name: "first", description: "One stage", source: "bundled", why: null },
      { name: "own", description: "One stage", source: "workspace", why: null },
      { name: "second", description: "One stage", source: "home", why: null },
    ]);
  });

  it("P6: lists what cannot be started with its reason, and refuses to find it", async () => {
    const { folder, write, catalog, place } = made();
    write("home/bad.yaml", "name: bad");
    write("home/first.yaml", textOf("first"));
    write("bundled/first.yaml", textOf("first"));
    write(OWN, textOf("own"));
    symlinkSync(join(folder, "bundled/first.yaml"), join(folder, "home/link.yaml"));
    const listed = await catalog.list(place);
    expect(listed.map(({ name, source, why }) => [name, source, why?.code ?? null])).toEqual([
      ["bad", "home", "invalid_workflow"],
      ["first", "bundled", null],
      ["first", "home", "invalid_workflow"],
      ["link", "home", "invalid_workflow"],
      ["own", "workspace", "workflow_untrusted"],
    ]);
    expect(await catalog.find(place, "bad")).toMatchObject({
      refusal: { code: "invalid_workflow", details: { path: "line 1, column 1, description" } },
    });
    expect(await catalog.find(place, "own")).toMatchObject({
      refusal: { code: "workflow_untrusted" },
    });
    expect(await catalog.find(place, "frist")).toMatchObject({
      refusal: {
        code: "workflow_missing",
        details: { reason: 'there are first (did you mean "first"?)' },
      },
    });
  });

  it.each([
    ["the tenant does not trust the workspace", { isTrusted: false }],
    ["the agents' user writes in it", { loadsWorkspaces: false }],
  ])("are none of a workspace if %s", async (_, options) => {
    const { write, catalog, place, trust } = made(options);
    write(OWN, textOf("own"));
    await trust(textOf("own"));
    expect(await catalog.list(place)).toEqual([]);
  });

  it("do not come from a folder that leads out of the workspace", async () => {
    const { folder, write, catalog, place, trust } = made();
    write("elsewhere/own.yaml", textOf("own"));
    await trust(textOf("own"));
    mkdirSync(join(place.workspaceCwd, ".fermata"));
    symlinkSync(join(folder, "elsewhere"), join(place.workspaceCwd, ".fermata/workflows"));
    const [only] = await catalog.list(place);
    expect(only?.why?.details.reason).toBe("it leads outside of the workspace");
  });
});

describe("a workflow that a session has", () => {
  it("keeps the version that it began with", async () => {
    const { write, catalog, place } = made();
    const file = write("home/own.yaml", textOf("own"));
    const found = await catalog.find(place, "own");
    if (!found.ok) throw new Error(found.refusal.code);
    writeFileSync(file, textOf("own", "Do something else."));
    const opened = await catalog.open(found.value.text, HOST);
    expect(opened).toMatchObject({ ok: true, value: { plan: { stages: [{ body: "Do it." }] } } });
    rmSync(file);
    expect(await catalog.open(found.value.text, HOST)).toMatchObject({ ok: true });
    const now = await catalog.find(place, "own");
    expect(now).toMatchObject({ refusal: { code: "workflow_missing" } });
  });

  it("P6: is refused when the trust in it was taken back, or it is damaged", async () => {
    const { write, catalog, place, trust, list } = made();
    write(OWN, textOf("own"));
    await trust(textOf("own"));
    const found = await catalog.find(place, "own");
    if (!found.ok) throw new Error(found.refusal.code);
    expect(await catalog.open(found.value.text, HOST)).toMatchObject({ ok: true });
    await list.remove("own.yaml");
    const opened = await catalog.open(found.value.text, HOST);
    expect(opened).toMatchObject({ refusal: { code: "workflow_untrusted" } });
    for (const text of ["", "{}", "null", '{"name":"a","source":"home"}']) {
      const damaged = await catalog.open(text, HOST);
      expect(damaged).toMatchObject({ refusal: { code: "workflow_missing" } });
    }
  });
});

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { manifestOf } from "../../src/extension/manifest.fixture.ts";
import { playWorkflow } from "../../src/extension/workflow/testing.ts";
import { Operator } from "../extensions/operator.fixture.ts";
import { readText } from "../house/files.ts";

/** The module that docs/workflows.md shows. */
function documented(): string {
  const [, code = ""] = /```ts\n([\s\S]*?)```/.exec(readText("docs/workflows.md")) ?? [];
  return code;
}

const MANIFEST = { kind: "workflow", main: "index.ts", description: "Sorts what people report" };

/** The folder of that module, with a schema for its configuration. */
function triage(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "fermata-triage-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const own = join(folder, "triage");
  mkdirSync(own);
  const configSchema = { type: "object", properties: { from: { type: "integer" } } };
  const manifest = { ...manifestOf("triage"), ...MANIFEST, configSchema };
  writeFileSync(join(own, "extension.json"), JSON.stringify(manifest));
  writeFileSync(join(own, "index.ts"), documented());
  return own;
}

it("the module of docs/workflows.md does what it says", async () => {
  const folder = triage();
  const stages = async (level: number, config = {}) => {
    const acts = { sort: [{ result: { level } }], mend: [{ text: "Mended" }] };
    const played = await playWorkflow(folder, { input: "It is slow", acts, config });
    return played.stages.map(({ stage }) => stage);
  };
  expect(await stages(4)).toEqual(["sort", "mend"]);
  expect(await stages(2)).toEqual(["sort"]);
  expect(await stages(2, { from: 1 })).toEqual(["sort", "mend"]);
});

it("is refused a result that is not of its schema, and a start without words", async () => {
  const folder = triage();
  const acts = { sort: [{ result: { level: "high" } }] };
  await expect(playWorkflow(folder, { input: "x", acts })).rejects.toThrow(/level: it must be/);
  await expect(playWorkflow(folder, { acts })).rejects.toThrow(
    "needs an input: what people report",
  );
});

it("is listed with the workflows of files, and not used before its code is trusted", async () => {
  const operator = new Operator();
  const code = "export default () => ({ stages: [{ id: 'a', body: 'b' }] });";
  const manifest = { kind: "workflow", description: "Flows" };
  operator.put("home/extensions", "flow", manifest, code);
  const { out } = await operator.fermata("workflows", "list");
  expect(out).toMatch(/^flow +home +not usable +Flows$/m);
  await operator.trust("flow");
  expect((await operator.fermata("workflows", "list")).out).toMatch(/^flow +home +ready +Flows$/m);
});

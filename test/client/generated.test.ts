// A stranger makes a client from /openapi.json with a generator of their own, and it works.

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { generate } from "openapi-typescript-codegen";
import { rolldown } from "rolldown";
import { describe, expect, it, onTestFinished } from "vitest";
import { ROOT } from "../house/files.ts";
import { sharedServer } from "../server/serve.fixture.ts";

const run = promisify(execFile);

/** What a stranger writes with it: a session, a turn and its answer, all of it typed. */
const PROGRAM = `
import { ApiError, BeginService, OpenAPI, PromptService, type Turn } from "./made/index";

OpenAPI.BASE = process.argv[2] ?? "";

const { sessionId, clientId } = await BeginService.postSession({
  requestBody: { sessionScope: "thread", agent: "echo", autonomy: "manual" },
});
const sent = await PromptService.postSessionPrompt({
  id: sessionId,
  xQwenClientId: clientId,
  wait: "60s",
  requestBody: { prompt: [{ type: "text", text: "say Hello" }] },
});
const turn: Turn = await PromptService.getSessionTurnsByPromptId({
  id: sessionId,
  promptId: sent.promptId,
});
console.log(turn.state, turn.resultText);

try {
  await BeginService.postSession({ requestBody: { agent: "nobody" } });
} catch (error) {
  if (error instanceof ApiError) console.log(error.status, error.body.code);
}
`;

/** What the types of the document forbid. */
const WRONG = `
import { BeginService } from "./made/index";
await BeginService.postSession({ requestBody: { autonomy: "limitless" } });
await BeginService.postSession({ requestBody: { agent: 7 } });
console.log((await BeginService.postSession({ requestBody: {} })).sessionName);
`;

const CONFIG = {
  compilerOptions: {
    ...{ strict: true, noEmit: true, skipLibCheck: true, target: "es2022" },
    ...{ module: "esnext", moduleResolution: "bundler", lib: ["es2023", "dom"] },
    ...{ types: ["node"], typeRoots: [join(ROOT, "node_modules/@types")] },
  },
};

describe("a client that is generated from /openapi.json", { timeout: 120_000 }, () => {
  const server = sharedServer();

  it("compiles, holds its callers to the schemas, and speaks to the server", async () => {
    const folder = mkdtempSync(join(tmpdir(), "fermata-generated-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const input = join(folder, "openapi.json");
    writeFileSync(input, await (await fetch(`${server().url}/openapi.json`)).text());
    const output = join(folder, "made");
    await generate({ input, output, useOptions: true, useUnionTypes: true, exportSchemas: false });
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(CONFIG));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    const program = join(folder, "program.ts");
    writeFileSync(program, PROGRAM);
    expect(await faultsIn(folder)).toEqual([]);

    const bundle = await rolldown({ input: program, platform: "node", logLevel: "silent" });
    await bundle.write({ file: join(folder, "program.js"), format: "esm" });
    await bundle.close();
    const ran = await run(process.execPath, [join(folder, "program.js"), server().url]);
    expect(ran.stdout).toBe("completed Hello\n400 agent_unknown\n");

    writeFileSync(join(folder, "wrong.ts"), WRONG);
    expect(await faultsIn(folder)).toEqual([
      expect.stringMatching(/^wrong\.ts\(3,.* Type '"limitless"' is not assignable/),
      expect.stringMatching(/^wrong\.ts\(4,.* Type 'number' is not assignable/),
      expect.stringMatching(/^wrong\.ts\(5,.* Property 'sessionName' does not exist/),
    ]);
  });
});

/** What the compiler says, one line for each fault. */
async function faultsIn(folder: string): Promise<readonly string[]> {
  const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
  const args = [compiler, "-p", folder, "--pretty", "false"];
  const said = await run(process.execPath, args, { cwd: folder }).catch((error) => error);
  return String(said.stdout)
    .split("\n")
    .filter((line) => line.includes("error TS"));
}

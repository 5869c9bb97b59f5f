import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { manifestOf } from "../../src/extension/manifest.fixture.ts";
import { ENTRY } from "../server/program.fixture.ts";
import { type ServeOptions, ServeProcess } from "../server/serve.fixture.ts";

/** An extension as its author writes it: what is special in its manifest, and its module. */
interface Written {
  readonly manifest?: object;
  /** The body of its default export, with `host` at hand. */
  readonly body: string;
}

/** A real server whose operator has trusted these extensions, by id. */
export async function extendedServer(
  extensions: Readonly<Record<string, Written>>,
  { prepare, ...options }: ServeOptions = {},
): Promise<ServeProcess> {
  const server = await ServeProcess.start({
    ...options,
    prepare: (made) => {
      for (const [id, written] of Object.entries(extensions)) trustIn(made, id, written);
      prepare?.(made);
    },
  });
  onTestFinished(() => server.end());
  return server;
}

/** Puts an extension into the operator's folder, and has the real command trust it. */
export function trustIn(server: ServeProcess, id: string, { manifest, body }: Written) {
  const folder = putIn(server, id, { ...(manifest && { manifest }), body });
  const env = { PATH: process.env.PATH, FERMATA_HOME: server.home };
  const { status, stderr } = spawnSync(process.execPath, [ENTRY, "trust", folder], { env });
  if (status !== 0) throw new Error(`it cannot be trusted: ${stderr}`);
}

/** The same without trust; answers its folder. */
export function putIn(server: ServeProcess, id: string, { manifest = {}, body }: Written): string {
  const folder = join(server.home, "extensions", id);
  mkdirSync(folder, { recursive: true });
  const whole = JSON.stringify({ ...manifestOf(id), ...manifest });
  writeFileSync(join(folder, "extension.json"), whole);
  writeFileSync(join(folder, "index.js"), `export default (host) => { ${body} };`);
  return folder;
}

/** A slot that takes any value. */
export const ANY_SLOT = {
  stateSlot: { slotVersion: "1.0.0", schema: {}, driftPolicy: "reject" },
} as const;

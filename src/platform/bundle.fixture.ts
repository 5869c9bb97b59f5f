import { mkdtempSync, rmSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "rolldown";
import { afterAll } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SOURCES = join(ROOT, "src");

/**
 * A program that a test starts and kills many times, as one file. A process that is killed leaves
 * no compiled code for the next one, so each would find, strip and compile hundreds of modules
 * again, which is most of what such a test takes.
 */
export async function bundled(script: URL): Promise<URL> {
  // Inside the clone, where the packages are that are not bundled.
  const folder = mkdtempSync(join(ROOT, "node_modules", ".fermata-test-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const name = basename(script.pathname, ".ts");
  await build({
    input: { [name]: fileURLToPath(script) },
    platform: "node",
    external: ["better-sqlite3", /^@modelcontextprotocol\/sdk\//, "vitest"],
    treeshake: { moduleSideEffects: [{ test: /^better-sqlite3$/, sideEffects: false }] },
    plugins: [{ name: "places-of-modules", transform: withPlaces }],
    logLevel: "warn",
    output: { dir: folder, entryFileNames: "[name].mjs" },
  });
  return pathToFileURL(join(folder, `${name}.mjs`));
}

/** Threads and agents are found by a module's place: in the build, if it is of these sources. */
function withPlaces(code: string, id: string): string | null {
  if (!id.startsWith(SOURCES) || !code.includes("import.meta.url")) return null;
  const isBuilt = Boolean(process.env.FERMATA_TEST_BUILD) && !id.includes(".fixture.");
  const path = isBuilt ? join(ROOT, "dist", relative(SOURCES, id).replace(/\.ts$/, ".js")) : id;
  return code.replaceAll("import.meta.url", JSON.stringify(pathToFileURL(path).href));
}

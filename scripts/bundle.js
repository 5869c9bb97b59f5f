// Makes one file, or a few, of each program: to find and read hundreds of small modules was most
// of what a start took. The modules stay where they are, for programs that import them.

import { realpathSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { build } from "rolldown";

/** What is run and never imported: by people, in a thread, or as a process. */
const PROGRAMS = [
  "cli/main",
  "store/sqlite/writer",
  "store/sqlite/reader",
  "session/export/writer",
  "agent/builtin/echo/main",
  "agent/user/main",
];

/** The first has a binary beside its code, and the second is loaded late, if at all. */
const LEFT_OUT = ["better-sqlite3", /^@modelcontextprotocol\/sdk\//];

/**
 * Each program, with what it needs, takes the place of its own first module.
 * @param {string} folder as the compiler has left it
 */
export async function bundlePrograms(folder) {
  // The bundler names modules by real path, and node_modules may be a link.
  const real = realpathSync(folder);
  for (const program of PROGRAMS) {
    await build({
      input: { [program]: join(folder, `${program}.js`) },
      platform: "node",
      external: LEFT_OUT,
      // Only threads open databases: where nothing of it is used it is not loaded either.
      treeshake: { moduleSideEffects: [{ test: /^better-sqlite3$/, sideEffects: false }] },
      plugins: [placesOfModules(real, dirname(program))],
      logLevel: "warn",
      output: {
        dir: folder,
        entryFileNames: "[name].js",
        // What is imported on demand stays a file of its own, beside the program.
        chunkFileNames: `${program}-[name].js`,
      },
    });
  }
}

/**
 * Some modules find other files by where they are themselves. In a bundle they still say the place
 * that they have come from.
 * @param {string} folder
 * @param {string} place the folder in it that the bundle goes to
 * @returns {import("rolldown").Plugin}
 */
function placesOfModules(folder, place) {
  return {
    name: "places-of-modules",
    transform(code, id) {
      if (!id.startsWith(folder) || !code.includes("import.meta.url")) return null;
      const path = relative(join(folder, place), id).replaceAll(sep, "/");
      return code.replaceAll("import.meta.url", `new URL("./${path}", import.meta.url).href`);
    },
  };
}

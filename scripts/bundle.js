// Makes one file, or a few, of each program: to find and read hundreds of small modules was most
// of what a start took. What of a program's packages is in its bundle is not installed with it.

import { realpathSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { build } from "rolldown";

/** What is run and never imported: by people, in a thread, or as a process. */
export const PROGRAMS = [
  "cli/main",
  // By itself, so that what it has in common with other commands is in no files of its own.
  "cli/commands/serve",
  "store/sqlite/writer",
  "store/sqlite/reader",
  "session/export/writer",
  "extension/thread/main",
  // Authors' tests import it. What it reads YAML with is not installed with Fermata.
  "extension/workflow/testing",
  "agent/builtin/echo/main",
  "agent/user/main",
  "tool/toolbox/relay",
];

/** It has a binary beside its code. */
const LEFT_OUT = ["better-sqlite3"];

/**
 * Each program, with what it needs, takes the place of its own first module.
 * @param {string} folder as the compiler has left it
 * @returns {Promise<string[]>} the files of packages that are in the bundles
 */
export async function bundlePrograms(folder) {
  // The bundler names modules by real path, and node_modules may be a link.
  const real = realpathSync(folder);
  const foreign = new Set();
  for (const program of PROGRAMS) {
    const { output } = await build({
      input: { [program]: join(folder, `${program}.js`) },
      platform: "node",
      external: LEFT_OUT,
      // What is loaded later takes from the program what that has already.
      preserveEntrySignatures: "allow-extension",
      // Only threads open databases: where nothing of it is used it is not loaded either.
      treeshake: { moduleSideEffects: [{ test: /^better-sqlite3$/, sideEffects: false }] },
      plugins: [
        otherPrograms(program),
        placesOfModules(real, dirname(program)),
        builtinsAsTheyAre(),
      ],
      logLevel: "warn",
      output: {
        dir: folder,
        entryFileNames: "[name].js",
        // What is imported on demand stays a file of its own, beside the program.
        chunkFileNames: `${program}-[name].js`,
        // V8 keeps the text of all that is loaded, at two bytes a character if one needs them.
        // One file has all that is loaded at once: Node looks for each file by many calls.
        codeSplitting: { groups: [{ name: "start", tags: ["$initial"] }] },
        charset: "ascii",
        comments: { legal: true, annotation: false, jsdoc: false },
      },
    });
    const modules = output.flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
    // Some are of the bundler itself, and of no file.
    const files = modules.filter((id) => !id.startsWith("\0"));
    for (const id of files) if (!id.startsWith(real)) foreign.add(id);
  }
  return [...foreign];
}

/**
 * Another program stays where it is, as the server does that the command loads.
 * @param {string} program
 * @returns {import("rolldown").Plugin}
 */
function otherPrograms(program) {
  return {
    name: "other-programs",
    resolveId(id, importer) {
      if (importer === undefined || !id.startsWith(".")) return null;
      const path = join(dirname(importer), id);
      const isOther = PROGRAMS.some((one) => one !== program && path.endsWith(`/${one}.js`));
      // The first module of a program is where its bundle will be.
      return isOther ? { id, external: true } : null;
    },
  };
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

/**
 * Takes Node's own modules from Node instead of importing them. For an import Node makes a second
 * form of the module, with all that it offers, and so loads what the program never uses: 10 ms of a
 * start.
 * @returns {import("rolldown").Plugin}
 */
function builtinsAsTheyAre() {
  return {
    name: "builtins-as-they-are",
    renderChunk(code) {
      return code.replace(/^import (.+?) from "(node:[a-z0-9_/]+)";$/gm, (_, names, module) => {
        const form = names.startsWith("{") ? names.replaceAll(" as ", ": ") : names;
        const local = form.replace(/^\* : |^\* as /, "");
        return `const ${local} = process.getBuiltinModule("${module}");`;
      });
    },
  };
}

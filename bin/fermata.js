#!/usr/bin/env node
// Old syntax on purpose: on an old Node this file has to live long enough to say so.

import module from "node:module";
import { fileURLToPath } from "node:url";
import { nodeIsTooOld, OLDEST_NODE } from "./node-version.js";

const MAIN = new URL("../dist/cli/main.js", import.meta.url).href;
// Beside the code, not in a shared folder: a user who can write there could change what runs.
const COMPILED = new URL("../node_modules/.cache/fermata", import.meta.url);

if (nodeIsTooOld(process.version)) {
  stop(
    `Fermata needs Node ${OLDEST_NODE} or newer, and this is Node ${process.version.slice(1)}: ` +
      "get a newer one from https://nodejs.org, or run `npm start` in a clone of Fermata, " +
      "which brings its own.",
  );
} else {
  // Where it cannot be written, every start compiles anew, and nothing else is different.
  module.enableCompileCache(fileURLToPath(COMPILED));
  import(MAIN)
    .then((cli) => cli.main(process.argv.slice(2)))
    .then((exitCode) => {
      process.exitCode = exitCode;
    })
    .catch((error) => {
      const isUnbuilt = error.code === "ERR_MODULE_NOT_FOUND" && error.url === MAIN;
      stop(
        isUnbuilt
          ? "fermata: not built yet; run `npm start` or `npm run build` first."
          : `fermata: ${error.message}`,
      );
    });
}

/** @param {string} sentence */
function stop(sentence) {
  console.error(sentence);
  process.exitCode = 1;
}

// Makes a clone ready to run: `npm pack` calls it first, and `npm test` with `--for-tests`.

import { setUp } from "./clone.js";
import { provide } from "./programs.js";

await setUp();
if (process.argv.includes("--for-tests")) await provide();

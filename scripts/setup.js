// Makes a clone ready to run: `npm test` and `npm pack` call it first.

import { setUp } from "./clone.js";

await setUp();

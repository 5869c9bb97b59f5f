// Writes the JSON Schema of declared workflows, which editors check them by.

import { writeFileSync } from "node:fs";
import { declarationSchema } from "../src/extension/workflow/declaration.ts";

const FILE = new URL("../workflows/workflow.schema.json", import.meta.url);

writeFileSync(FILE, `${JSON.stringify(declarationSchema(), null, 2)}\n`);

// Writes the commands, as their table has them, into docs/cli.md.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CLI_PAGE, withCommands } from "../test/house/cli-page.ts";
import { ROOT } from "../test/house/files.ts";

const page = join(ROOT, CLI_PAGE);
writeFileSync(page, await withCommands(readFileSync(page, "utf8")));

// Writes what the server does with each part of ACP into docs/agents.md.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ACP_PAGE, withAcpTables } from "../test/house/acp-table.ts";
import { ROOT } from "../test/house/files.ts";

const page = join(ROOT, ACP_PAGE);
writeFileSync(page, withAcpTables(readFileSync(page, "utf8")));

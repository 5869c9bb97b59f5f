// Writes the tables of routes in docs/protocol.md, as a server describes its routes.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { TestServer } from "../src/client-testing/server.ts";
import { routeTables, withTables } from "./route-tables.ts";

const PAGE = fileURLToPath(new URL("../docs/protocol.md", import.meta.url));

/** The sources as they are, and not a build of before. */
const ENTRY = fileURLToPath(new URL("../test/server/entry.fixture.ts", import.meta.url));

const server = await TestServer.start({ entry: ENTRY });
try {
  const document = JSON.parse(await (await fetch(`${server.url}/openapi.json`)).text());
  writeFileSync(PAGE, withTables(readFileSync(PAGE, "utf8"), routeTables(document)));
} finally {
  await server.stop();
}

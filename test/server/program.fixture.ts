import { fileURLToPath } from "node:url";

const BUILT = fileURLToPath(new URL("../../bin/fermata.js", import.meta.url));
const SOURCES = fileURLToPath(new URL("entry.fixture.ts", import.meta.url));

/**
 * The command, as tests start it: from the build of this very tree, which starts in half the time
 * and is what people run, or from the sources where there is none.
 */
export const ENTRY = process.env.FERMATA_TEST_BUILD ? BUILT : SOURCES;

const BUILT_ECHO = fileURLToPath(new URL("../../dist/agent/builtin/echo/main.js", import.meta.url));
const ECHO_SOURCES = fileURLToPath(
  new URL("../../src/agent/builtin/echo/main.ts", import.meta.url),
);

/** The built-in agent, for profiles of its own kind: from the build, or from the sources. */
export const ECHO = process.env.FERMATA_TEST_BUILD ? BUILT_ECHO : ECHO_SOURCES;

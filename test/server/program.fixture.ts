import { fileURLToPath } from "node:url";

const BUILT = fileURLToPath(new URL("../../bin/fermata.js", import.meta.url));
const SOURCES = fileURLToPath(new URL("entry.fixture.ts", import.meta.url));

/**
 * The command, as tests start it: from the build of this very tree, which starts in half the time
 * and is what people run, or from the sources where there is none.
 */
export const ENTRY = process.env.FERMATA_TEST_BUILD ? BUILT : SOURCES;

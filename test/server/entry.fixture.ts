// The command, from its sources: what tests start is what is here, built or not.

import { main } from "../../src/cli/main.ts";

process.exitCode = await main(process.argv.slice(2));

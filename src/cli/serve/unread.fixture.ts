// Ends like a server that has stopped, of whose error output nothing is read.

import { endUnread } from "./stop.ts";

process.stderr.write("x".repeat(1_024 * 1_024));
endUnread();
process.exitCode = 3;

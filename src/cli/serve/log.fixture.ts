// Logs every message of a server, at the level of its argument.

import { LOG_MESSAGES } from "../../core/log.ts";
import { SecretGuard } from "../../store/index.ts";
import { openLog } from "./log.ts";

const { log } = openLog(process.argv[2] as Parameters<typeof openLog>[0], new SecretGuard());
for (const what of Object.keys(LOG_MESSAGES) as (keyof typeof LOG_MESSAGES)[]) log(what, {});

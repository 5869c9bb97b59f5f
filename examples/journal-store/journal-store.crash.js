// The process that the crash runner kills.

import { playChild } from "fermata/store/kit/crash";
import journalStore from "./journal-store.js";

await playChild({ journal: journalStore });

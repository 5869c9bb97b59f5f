// A bare server as a process of its own, as ours is one.

import { BareServer } from "./wire-bare.ts";

console.log(`listening on http://127.0.0.1:${await new BareServer().listen()}`);

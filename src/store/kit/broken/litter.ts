import { mkdirSync, openSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { SessionStore } from "../../store.ts";
import { altered } from "./altered.ts";

/**
 * Keeps a diary for everybody to read, secrets included, and beside its directory too. It never
 * closes what it has opened; whoever runs it finds the numbers in `handles`.
 */
export function litters(root: () => string, handles: number[]): SessionStore {
  return altered((store) => ({
    async init(host, config) {
      const diary = join(root(), "diary.log");
      mkdirSync(root(), { recursive: true, mode: 0o700 });
      writeFileSync(diary, `the password is ${host.env.get("PASSWORD")}`, { mode: 0o644 });
      writeFileSync(join(dirname(root()), "beside.log"), "");
      handles.push(openSync(diary, "r"));
      return store.init(host, config);
    },
  }));
}

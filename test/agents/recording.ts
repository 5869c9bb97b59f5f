// What a run leaves for those who want to know more: FERMATA_AGENTS_RECORD names a folder, which
// gets the wire between server and agent, what the model was sent, and what the server said.

import { appendFileSync, chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ModelServer } from "./model/server.ts";

const TEE = fileURLToPath(new URL("tee.ts", import.meta.url));

export class Recording {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  /** Null where none is wanted. */
  static next(agent: string, world: string): Recording | null {
    const folder = process.env.FERMATA_AGENTS_RECORD;
    if (folder === undefined) return null;
    mkdirSync(folder, { recursive: true });
    count += 1;
    return new Recording(join(folder, `${agent}-${world}-${count}`));
  }

  /** A folder with programs of the same names, which write down what goes through them. */
  shims(bin: string): readonly string[] {
    const folder = `${this.#path}.bin`;
    mkdirSync(folder, { recursive: true });
    for (const name of readdirSync(bin)) {
      const words = [process.execPath, TEE, `${this.#path}.wire.jsonl`, join(bin, name)];
      const line = words.map((word) => `"${word}"`).join(" ");
      writeFileSync(join(folder, name), `#!/bin/sh\nexec ${line} "$@"\n`);
      chmodSync(join(folder, name), 0o755);
    }
    return [folder];
  }

  note(check: string): void {
    const line = JSON.stringify({ from: "contract", line: check });
    appendFileSync(`${this.#path}.wire.jsonl`, `${line}\n`);
  }

  keep(model: ModelServer, said: string): void {
    const requests = model.requests.map((request) => `${JSON.stringify(request)}\n`);
    writeFileSync(`${this.#path}.model.jsonl`, requests.join(""));
    writeFileSync(`${this.#path}.server.log`, `${said}\n${model.unknown.join("\n")}\n`);
  }
}

let count = 0;

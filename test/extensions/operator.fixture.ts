import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { manifestOf } from "../../src/extension/manifest.fixture.ts";
import { ENTRY } from "../server/program.fixture.ts";

/** What a command has come to. */
interface Ended {
  readonly exitCode: number | null;
  readonly out: string;
  readonly err: string;
}

/** The folders of an operator, and the real command in them. */
export class Operator {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), "fermata-operator-")));
  readonly home = join(this.folder, "home");
  readonly workspace = join(this.folder, "workspace");

  constructor() {
    for (const folder of [this.home, this.workspace]) mkdirSync(folder);
    onTestFinished(() => rmSync(this.folder, { recursive: true, force: true }));
  }

  write(path: string, text: string): string {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  }

  /** Puts an extension into a folder of extensions, and answers where it is. */
  put(place: string, id: string, change: object = {}, code = "export default () => ({});"): string {
    const manifest = JSON.stringify({ ...manifestOf(id), ...change }, null, 2);
    this.write(join(place, id, "index.js"), code);
    return dirname(this.write(join(place, id, "extension.json"), manifest));
  }

  configure(extensions: object): string {
    return this.write("home/extensions.json", JSON.stringify(extensions));
  }

  /** Trusts what is in the operator's folder by these ids. */
  async trust(...ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      const { exitCode, err } = await this.fermata("trust", join(this.home, "extensions", id));
      if (exitCode !== 0) throw new Error(err);
    }
  }

  /** Runs the command to its end. */
  async fermata(...args: readonly string[]): Promise<Ended> {
    const env = { PATH: process.env.PATH, FERMATA_HOME: this.home, FERMATA_PORT: "0" };
    const child = spawn(process.execPath, [ENTRY, ...args], { env, cwd: this.workspace });
    let [out, err] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      err += text;
    });
    const [exitCode] = await once(child, "close");
    const named = (text: string) => text.replaceAll(this.folder, "").trim();
    return { exitCode, out: named(out), err: named(err) };
  }
}

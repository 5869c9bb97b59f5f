import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { sentenceOf } from "../../core/error.ts";
import { SecretGuard } from "../../store/index.ts";
import { value } from "../../store/kit/expect.ts";
import { ACME } from "../../store/kit/sample.ts";
import { backup } from "../commands/backup.ts";
import { readServeOptions } from "./read-options.ts";
import { openStore } from "./store.ts";

const folder = mkdtempSync(join(tmpdir(), "fermata-store-module-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const MEMORY = fileURLToPath(new URL("../../store/memory/store.ts", import.meta.url));

let files = 0;

function fileOf(text: string): string {
  files += 1;
  const path = join(folder, `store-${files}.mjs`);
  writeFileSync(path, text);
  return path;
}

/** A module whose store is the memory store, with a contract and functions changed so. */
function moduleOf(contract: string, more = ""): string {
  return fileOf(`
    import { memoryStore } from ${JSON.stringify(MEMORY)};
    export default () => {
      const store = memoryStore();
      store.contract = { ...store.contract, storeId: "theirs", ${contract} };
      ${more}
      return store;
    };
  `);
}

async function opening(flags: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const data = mkdtempSync(join(folder, "data-"));
  const home = { FERMATA_HOME: join(data, "home"), ...env };
  const options = await value(readServeOptions(flags, home));
  const logged: object[] = [];
  const guard = new SecretGuard();
  const log = { log: (what: string, about: object) => logged.push({ what, ...about }) };
  const opened = await openStore(options, data, guard, log, home);
  return { data, opened, logged, guard };
}

async function sentence(store: string, ...flags: readonly string[]): Promise<string> {
  const { opened } = await opening(["--store", store, ...flags]);
  if (opened.ok) await opened.value.dispose();
  return opened.ok ? "it was opened" : sentenceOf(opened.refusal);
}

describe("a store that the operator names", () => {
  it("is loaded, announced in the log, and gets what its contract asks for", async () => {
    const module = moduleOf("", "globalThis.asked = store.init; ");
    const { opened, logged, data } = await opening(["--store", module]);
    const store = await value(Promise.resolve(opened));
    expect(store.contract.storeId).toBe("theirs");
    expect(logged).toContainEqual({ what: "store active", storeId: "theirs" });
    await value(store.appendJournal(ACME, []));
    await store.dispose();
    // Commands on the directory know that its sessions are elsewhere, and do not take it for empty.
    expect(await backup([join(folder, "copy"), "--data", data])).toBe(1);
  });

  it("P11: reads credentials through its host, which are secrets from then on", async () => {
    const password = "store-password-4711";
    const reads = `const init = store.init.bind(store);
      store.init = (host, config) => {
        if (host.env.get("STORE_PASSWORD") !== "${password}") throw new Error("no password");
        return init(host, config);
      };`;
    const { opened, guard } = await opening(["--store", moduleOf("", reads)], {
      STORE_PASSWORD: password,
    });
    await (await value(Promise.resolve(opened))).dispose();
    expect(guard.redact(`it is ${password}`)).not.toContain(password);
  });

  it("is, as a package, looked for in the home of Fermata", async () => {
    const { data } = await opening(["--store", "memory"]);
    const installed = join(data, "home/node_modules/their-store");
    mkdirSync(installed, { recursive: true });
    const main = '{ "name": "their-store", "type": "module", "exports": "./main.js" }';
    writeFileSync(join(installed, "package.json"), main);
    writeFileSync(
      join(installed, "main.js"),
      `export { default } from ${JSON.stringify(moduleOf(""))};`,
    );
    const env = { FERMATA_HOME: join(data, "home") };
    const { opened } = await opening(["--store", "their-store"], env);
    await (await value(Promise.resolve(opened))).dispose();
    expect(await sentence("their-store")).toMatch(/there is no store or package "their-store"/);
  });

  it.each([
    [() => join(folder, "nothing.js"), /--store: there is no file .*nothing\.js/],
    [() => `${folder}/.`, /is a directory; name the file in it/],
    [() => "sqlit", /no store or package "sqlit"; bundled are sqlite and memory; install/],
    [() => "no such store", /neither sqlite, memory, a path such as \.\/store\.js nor a package/],
    [() => fileOf("export const store = 1;"), /no default export .*export default \(\) => store/],
    [() => fileOf("export default 7;"), /has no default export that makes a store/],
    [() => fileOf("throw new Error('as it likes');"), /cannot be loaded: as it likes/],
    [() => fileOf("import 'fermata-is-not-here';"), /cannot be loaded: .*fermata-is-not-here/],
    [() => fileOf("export default () => { throw new Error('boo'); };"), /threw: boo/],
    [() => fileOf("export default () => ({});"), /init: the store has no such function/],
    [() => moduleOf('contractVersion: "2.0.0"'), /version 2\.0\.0 of the contract, .* has 1\.0\.0/],
    [() => moduleOf('requiredCoreVersion: ">=9"'), /needs Fermata >=9, and this is .*; update/],
    [() => moduleOf('storeId: "sqlite"'), /calls itself "sqlite", as a bundled store does/],
    [() => moduleOf("capabilities: {}"), /journaling: it must be true/],
    [() => moduleOf("", "store.commit = undefined;"), /commit: the store has no such function/],
    [
      () => moduleOf("", "store.init = () => { throw new Error('no backend'); };"),
      /it does not start: theirs \(.*\): .*no backend/,
    ],
    [() => moduleOf("", "store.activate = async () => null;"), /it does not start: theirs/],
  ])("is refused in one sentence if it does not fit (%#)", async (store, expected) => {
    const said = await sentence(store());
    expect(said).toMatch(/^The server cannot start with this --store: /);
    expect(said).toMatch(expected);
  });

  it.each([
    ["path", /"path" has no value; write NAME=VALUE/],
    ["colour=red", /the store has no option "colour"; it has: none/],
    ["active=false", /active follows from --store/],
  ])("has no option %s", async (option, expected) => {
    expect(await sentence(moduleOf(""), "--store-option", option)).toMatch(expected);
  });

  it("is the only one that has options of its own", async () => {
    const said = await sentence("memory", "--store-option", "a=b");
    expect(said).toMatch(/--store-option: the store memory has none/);
  });
});

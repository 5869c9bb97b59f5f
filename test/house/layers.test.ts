import { describe, expect, it } from "vitest";
import { layerFaults } from "./layers.ts";

/** What is said of one file with this text. */
function faults(path: string, text: string): readonly string[] {
  return layerFaults(new Map([[path, text]]));
}

describe("the layer checker", () => {
  it.each([
    ["a folder imports itself", "core/turn.ts", 'import { a } from "./status.ts";'],
    ["a folder imports a lower one", "session/actor.ts", 'import { a } from "../core/index.ts";'],
    ["server imports a store", "server/main.ts", 'import { a } from "../store/store.ts";'],
    ["a store asks the system", "store/a.ts", 'import { a } from "../platform/b.ts";'],
    ["an agent asks the system", "agent/a.ts", 'import { a } from "../platform/b.ts";'],
    ["a session has a mutex", "session/a.ts", 'import { a } from "../platform/keyed-mutex.ts";'],
    ["server comes by the door", "server/a.ts", 'import { a } from "../session/index.ts";'],
    ["a server test looks in", "server/a.test.ts", 'import { a } from "../session/live.ts";'],
    ["cli imports the client", "cli/main.ts", 'import { a } from "../client/index.ts";'],
    ["session imports a store's type", "session/a.ts", 'import type { A } from "../store/b.ts";'],
    ["a session test imports a store", "session/a.test.ts", 'import { a } from "../store/b.ts";'],
    ["a core test imports packages", "core/a.test.ts", 'import { it } from "vitest";'],
    ["a store imports a builtin", "store/file.ts", 'import { open } from "node:fs";'],
    ["the client imports a package", "client/a.ts", 'import { z } from "zod";'],
    ["prose mentions an import", "core/a.ts", '// import { a } from "../cli/main.ts"'],
    ["a string mentions an import", "core/a.ts", "const a = 'import(\"../cli/main.ts\")';"],
  ])("accepts that %s", (_what, path, text) => {
    expect(faults(path, text)).toEqual([]);
  });

  it.each([
    ["imports upward", "core/a.ts", 'import { a } from "../wire/http.ts";', "may not import wire"],
    ["imports upward by type", "core/a.ts", 'import type { A } from "../wire/b.ts";', "wire"],
    ["re-exports upward", "wire/a.ts", 'export { a } from "../session/b.ts";', "session"],
    ["re-exports all upward", "wire/a.ts", 'export * from "../session/b.ts";', "session"],
    ["loads upward later", "wire/a.ts", 'const a = import("../session/b.ts");', "session"],
    ["names a type upward", "wire/a.ts", 'type A = import("../session/b.ts").B;', "session"],
    ["imports upward in a test", "core/a.test.ts", 'import { a } from "../cli/main.ts";', "cli"],
    ["passes the door", "server/a.ts", 'import { a } from "../session/live.ts";', "only the door"],
    ["imports for its effect", "core/a.ts", 'import "../cli/main.ts";', "cli"],
  ])("refuses a file that %s", (_what, path, text, reason) => {
    expect(faults(path, text)).toEqual([expect.stringContaining(reason)]);
  });

  it.each([
    ["agent", "store"],
    ["agent", "extension"],
    ["store", "agent"],
    ["store", "extension"],
    ["extension", "agent"],
    ["extension", "store"],
    ["core", "platform"],
    ["wire", "platform"],
    ["client", "platform"],
    ["platform", "core"],
    ["platform", "store"],
    ["client", "session"],
    ["client", "store"],
  ])("refuses that %s imports %s, even a type", (folder, neighbour) => {
    const text = `import type { A } from "../${neighbour}/b.ts";`;
    expect(faults(`${folder}/a.ts`, text)).toEqual([
      `${folder}/a.ts imports ../${neighbour}/b.ts: ${folder} may not import ${neighbour}`,
    ]);
  });

  it("lets session see only the interfaces of store and agent", () => {
    const value = 'import { openStore } from "../store/store.ts";';
    const half = 'import { type Agent } from "../agent/agent.ts";'; // It still loads the module.
    expect(faults("session/a.ts", value)).toEqual([expect.stringContaining("import type")]);
    expect(faults("session/a.ts", half)).toEqual([expect.stringContaining("import type")]);
  });

  it("keeps packages and builtins out of core", () => {
    expect(faults("core/a.ts", 'import { z } from "zod";')).toHaveLength(1);
    expect(faults("core/a.ts", 'import { join } from "node:path";')).toHaveLength(1);
  });

  it("keeps builtins out of what runs in browsers, with and without their prefix", () => {
    expect(faults("client/a.ts", 'import { request } from "node:http";')).toHaveLength(1);
    expect(faults("client/a.ts", 'import { request } from "http";')).toHaveLength(1);
    expect(faults("wire/a.ts", 'import { Buffer } from "node:buffer";')).toHaveLength(1);
  });

  it("refuses ways round: own package name, computed paths, files outside src", () => {
    expect(faults("wire/a.ts", 'import { a } from "fermata/server";')).toHaveLength(1);
    expect(faults("wire/a.ts", "const a = import(path);")).toHaveLength(1);
    expect(faults("wire/a.ts", 'import a from "../../bench/main.ts";')).toHaveLength(1);
  });

  it("refuses a folder, or a file beside the folders, that has no layer yet", () => {
    expect(faults("plugin/a.ts", "")).toEqual([expect.stringContaining('"plugin" has no layer')]);
    expect(faults("index.ts", "")).toEqual([expect.stringContaining('"index.ts" has no layer')]);
  });
});

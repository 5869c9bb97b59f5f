import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import { isServed } from "../src/agent/bridge/agent-requests.ts";
import { clientCapabilities } from "../src/agent/bridge/capability.ts";
import { isObject, type JsonObject, objectAt, stringAt } from "../src/core/json.ts";
import { AGENT_METHODS, CANCEL_REQUEST, CLIENT_METHODS } from "../src/wire/acp.ts";
import * as rows from "../src/wire/acp-coverage.ts";
import { ACP_PAGE, withAcpTables } from "./house/acp-table.ts";
import { readText } from "./house/files.ts";

type Rows = Readonly<Record<string, rows.Coverage>>;

const require = createRequire(import.meta.url);

/** The definitions of one of the SDK's two schemas of ACP 1. */
function schema(name: "schema.json" | "schema.unstable.json"): JsonObject {
  const file = require.resolve(`@agentclientprotocol/sdk/schema/v1/${name}`);
  return objectAt(JSON.parse(readFileSync(file, "utf8")), "$defs") ?? {};
}

/** Methods of requests and notifications that go to this side. */
function methods(defs: JsonObject, sides: readonly string[]): readonly string[] {
  const found = Object.values(defs).flatMap((def) => {
    if (!isObject(def) || !sides.includes(String(def["x-side"]))) return [];
    return stringAt(def, "x-method") ?? [];
  });
  return [...new Set(found)].toSorted();
}

function updates(defs: JsonObject): readonly string[] {
  const variants = objectAt(defs, "SessionUpdate")?.oneOf;
  const kinds = (Array.isArray(variants) ? variants : []).map((variant: unknown) => {
    const properties = isObject(variant) ? objectAt(variant, "properties") : null;
    return stringAt(objectAt(properties ?? {}, "sessionUpdate") ?? {}, "const");
  });
  return kinds.filter((kind) => kind !== null).toSorted();
}

/** The paths of all that can be announced, such as `fs.readTextFile`. */
function capabilities(defs: JsonObject, name: string, path = ""): readonly string[] {
  const properties = objectAt(objectAt(defs, name) ?? {}, "properties") ?? {};
  const parts = Object.entries(properties).filter(([key]) => key !== "_meta");
  const inner = parts.flatMap(([key, about]) => {
    const ref = /"\$ref":"#\/\$defs\/(\w+)"/.exec(JSON.stringify(about))?.[1];
    const at = path === "" ? key : `${path}.${key}`;
    return ref === undefined ? [at] : capabilities(defs, ref, at);
  });
  // An object can be announced as it is, besides what is in it.
  return ANNOUNCED_WHOLE.has(path) || inner.length === 0 ? [path, ...inner] : inner;
}

const ANNOUNCED_WHOLE = new Set(["sessionCapabilities.systemPrompt"]);

/** The paths of what an announcement has. */
function announced(value: JsonObject, path = ""): readonly string[] {
  return Object.entries(value).flatMap(([key, one]) => {
    const at = path === "" ? key : `${path}.${key}`;
    if (isObject(one) && Object.keys(one).length > 0) return announced(one, at);
    return one === false ? [] : [at];
  });
}

const namesOf = (table: Rows) => Object.keys(table).toSorted();
const done = (table: Rows) => namesOf(table).filter((name) => "does" in (table[name] ?? {}));

describe("P6: every part of ACP has a row: what the server does, or why not", () => {
  const unstable = schema("schema.unstable.json");
  const stable = schema("schema.json");

  it.each([
    ["calls to an agent", rows.AGENT_METHOD_COVERAGE, (d: JsonObject) => methods(d, ["agent"])],
    [
      "calls of an agent",
      rows.CLIENT_METHOD_COVERAGE,
      (d: JsonObject) => methods(d, ["client", "protocol"]),
    ],
    ["updates", rows.UPDATE_COVERAGE, updates],
    [
      "what is announced to an agent",
      rows.CLIENT_CAPABILITY_COVERAGE,
      (d: JsonObject) => capabilities(d, "ClientCapabilities"),
    ],
    [
      "what an agent announces",
      rows.AGENT_CAPABILITY_COVERAGE,
      (d: JsonObject) => capabilities(d, "AgentCapabilities"),
    ],
  ])("%s", (what, table, read) => {
    const proxies = what === "calls to an agent" ? methods(unstable, ["proxy"]) : [];
    expect(namesOf(table)).toEqual([...read(unstable), ...proxies].toSorted());
    expect(namesOf(table)).toEqual(expect.arrayContaining([...read(stable)]));
  });

  it("the server calls the methods that have it, and set_model, which has left the schema", () => {
    const { setModel, ...called } = AGENT_METHODS;
    expect(done(rows.AGENT_METHOD_COVERAGE)).toEqual(Object.values(called).toSorted());
    expect(rows.AGENT_METHOD_COVERAGE).not.toHaveProperty(setModel);
  });

  it("the server serves the requests that have it", () => {
    const names = [...Object.values(CLIENT_METHODS), CANCEL_REQUEST];
    expect(done(rows.CLIENT_METHOD_COVERAGE)).toEqual(names.toSorted());
    const notifications = methods(unstable, ["client", "protocol"]).filter((method) =>
      Object.entries(unstable).every(([name, def]) => {
        return !name.endsWith("Request") || !isObject(def) || def["x-method"] !== method;
      }),
    );
    const served = done(rows.CLIENT_METHOD_COVERAGE).filter((one) => !notifications.includes(one));
    expect(served.filter((method) => !isServed(method))).toEqual([]);
    const refused = namesOf(rows.CLIENT_METHOD_COVERAGE).filter((name) => !served.includes(name));
    expect(refused.filter(isServed)).toEqual([]);
  });

  it("the server announces exactly what has it", () => {
    // What vendors have agreed on beside ACP is not in its schema.
    const { _meta, ...capabilities } = clientCapabilities([]);
    expect(announced(capabilities).toSorted()).toEqual(done(rows.CLIENT_CAPABILITY_COVERAGE));
  });

  it("the page has the rows as they are: run `node scripts/acp-table.ts`", () => {
    const page = readText(ACP_PAGE);
    expect(page).toBe(withAcpTables(page));
  });
});

// Every route is called on a real server as its description shows it, and answers as that says.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { isObject, type JsonObject } from "../../src/core/json.ts";
import type { RouteExample } from "../../src/server/openapi/description.ts";
import type { OpenApiDocument, RouteOperation } from "../../src/server/openapi/document.ts";
import { EXAMPLE_IDS } from "../../src/server/openapi/path-parameters.ts";
import { type RealIds, ReferenceScene, textAt } from "./reference-scene.fixture.ts";
import { type ServeProcess, sharedServer } from "./serve.fixture.ts";

/** After this there is nothing that another example could be about. */
const LAST = "DELETE /tenant";

const TOKEN = "a-token-of-the-operator";
const FLAGS = ["--token", TOKEN, "--enable-session-shell", "--max-children", "4"];

type Prepare = (scene: ReferenceScene) => Promise<RealIds>;

/** What has to be so before an example; by default there is a session with a finished turn. */
const BEFORE: Readonly<Record<string, Prepare>> = {
  "POST /session/{id}/mid-turn-message": (scene) => scene.busy(),
  "POST /session/{id}/cancel": (scene) => scene.busy(),
  "POST /session/{id}/permission/{requestId}": (scene) => scene.asking(),
  "POST /permission/{requestId}": (scene) => scene.asking(),
  "DELETE /session/{id}/grants/{key}": (scene) => scene.granted(),
  "DELETE /session/{id}/grants": (scene) => scene.granted(),
  "GET /session/{id}/children/{childId}/events": (scene) => scene.delegating(),
  "POST /session/{id}/tasks/{taskId}/cancel": (scene) => scene.working(),
  "DELETE /session/{id}": (scene) => scene.spoken("say Hello"),
  "POST /session/{id}/detach": (scene) => scene.spoken("say Hello"),
  "POST /sessions/delete": (scene) => scene.spoken("say Hello"),
  "POST /workspaces/{workspace}/sessions/delete": (scene) => scene.spoken("say Hello"),
  "GET /agents/{name}/sessions": async () => ({ echo: "keeper" }),
  "POST /agents/{name}/sessions/adopt": async () => ({ echo: "keeper" }),
  "POST /agents/{name}/logout": async () => ({ echo: "keeper" }),
  "DELETE /members/{user}": (scene) => member(scene),
  "POST /tokens": (scene) => member(scene),
  "DELETE /tokens/{id}": (scene) => issued(scene),
  "POST /tokens/{id}/rotate": (scene) => issued(scene),
  "DELETE /invitations/{id}": (scene) => invited(scene, "kay"),
  "POST /invitations/redemption": (scene) => invited(scene, "lee"),
  "POST /credits/grants/{id}/revocation": async (scene) => {
    await scene.call("POST", "/credits/grants", { id: EXAMPLE_IDS.grant, amountMicro: 5 });
    return {};
  },
};

async function member(scene: ReferenceScene): Promise<RealIds> {
  await scene.call("POST", "/members/ada", { role: "member" });
  return {};
}

async function issued(scene: ReferenceScene): Promise<RealIds> {
  await member(scene);
  const made = await scene.call("POST", "/tokens", { role: "member", user: "ada" });
  return { [EXAMPLE_IDS.token]: textAt(made, "id") };
}

async function invited(scene: ReferenceScene, user: string): Promise<RealIds> {
  const made = await scene.call("POST", "/invitations", { user, role: "member" });
  return { [EXAMPLE_IDS.invitation]: textAt(made, "id"), [EXAMPLE_IDS.code]: textAt(made, "code") };
}

/** An agent that keeps sessions and can be signed out of, which `echo` does not. */
const KEEPING = fileURLToPath(
  new URL("../../src/agent/bridge/keeping-agent.fixture.ts", import.meta.url),
);

/** Has been at work here before there was a server. */
function kept({ workspace }: ServeProcess) {
  const sessions = [{ sessionId: "keeper-session-1", cwd: workspace, title: "Before" }];
  writeFileSync(join(workspace, "kept-sessions.json"), JSON.stringify(sessions));
}

const AGENTS = {
  keeper: { command: process.execPath, args: [KEEPING, "list", "resume", "logout"] },
};

describe("the description of the routes", { timeout: 240_000 }, () => {
  const server = sharedServer({ flags: FLAGS, agents: AGENTS, prepare: kept });

  it("is what a server answers to the example of each route", async () => {
    const scene = new ReferenceScene(server(), TOKEN);
    const read: unknown = await (await scene.send("GET", "/openapi.json", {}, {})).json();
    const checker = new AnswerChecker(read);
    const usual = await scene.spoken("say Hello");
    const faults: string[] = [];
    const isLast = ({ name }: { readonly name: string }) => name === LAST;
    const all = checker.operations();
    const inOrder = [...all.filter((one) => !isLast(one)), ...all.filter(isLast)];
    for (const { name, method, path, operation } of inOrder) {
      const ids = { ...usual, ...(await BEFORE[name]?.(scene)) };
      const answer = await scene.send(method, path, exampleOf(operation), ids);
      const fault = await checker.faultOf(operation, answer);
      if (fault !== null) faults.push(`${name}: ${fault}`);
    }
    expect(faults).toEqual([]);
  });
});

function exampleOf({ parameters = [], requestBody }: RouteOperation): RouteExample {
  const given = (where: string) => {
    const found = parameters.filter((one) => one.in === where && one.example !== undefined);
    return Object.fromEntries(found.map(({ name, example }) => [name, example ?? ""]));
  };
  const body = requestBody?.content["application/json"]?.example;
  const { "Last-Event-ID": lastEventId } = given("header");
  return {
    query: given("query"),
    ...(lastEventId !== undefined && { headers: { "last-event-id": lastEventId } }),
    ...(isObject(body) && { body }),
  };
}

/** Holds answers to the schemas of a document, of which no object has other fields here. */
class AnswerChecker {
  readonly #document: OpenApiDocument;
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false });

  constructor(read: unknown) {
    if (!isDocument(read)) throw new Error("this is no description");
    this.#document = read;
    this.#ajv.addSchema({ $id: "all", components: closed(read.components) });
  }

  /** Their paths have the examples of their parameters in braces. */
  operations() {
    return Object.entries(this.#document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([word, operation]) => {
        const { parameters = [] } = operation;
        const filled = parameters
          .filter((one) => one.in === "path")
          .reduce((so, { name, example = "" }) => so.replace(`{${name}}`, `{${example}}`), path);
        const method = word.toUpperCase();
        return { name: `${method} ${path}`, method, path: filled, operation };
      }),
    );
  }

  /** What is wrong with an answer; null if it is as described. */
  async faultOf({ responses }: RouteOperation, answer: Response): Promise<string | null> {
    const [type = ""] = (answer.headers.get("content-type") ?? "").split(";");
    const text =
      type === "text/event-stream" ? await firstFrame(answer) : await begun(answer, type);
    const described = responses[answer.status];
    if (!answer.ok || described === undefined) return `${answer.status} ${text}`;
    if (described.content === undefined) return text === "" ? null : `it has a body: ${text}`;
    const schema = described.content[type]?.schema;
    if (schema === undefined) return `nothing is said of ${type}`;
    if (!type.endsWith("/json") && type !== "text/event-stream") return null;
    const check = this.#ajv.compile(withBase(closed(schema)));
    if (check(JSON.parse(text))) return null;
    const [why] = check.errors ?? [];
    const where = `${why?.instancePath} ${why?.message} ${JSON.stringify(why?.params)}`;
    return `${where} in ${text.slice(0, 400)}`;
  }
}

function isDocument(read: unknown): read is OpenApiDocument {
  return isObject(read) && isObject(read.paths) && isObject(read.components);
}

/** The same schema for objects that have no other fields than those it names. */
function closed(schema: unknown): JsonObject {
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (!isObject(value)) return value;
    const inner = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, walk(one)]));
    const isPlain = isObject(value.properties) && value.additionalProperties === undefined;
    return isPlain ? { ...inner, additionalProperties: false } : inner;
  };
  const made = walk(schema);
  return isObject(made) ? made : {};
}

/** References are to the whole document. */
function withBase(schema: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"all#/components'));
}

/** The `data` of the first frame. */
async function firstFrame(answer: Response): Promise<string> {
  const text = await until(answer, (so) => /^data: .*\n/m.test(so));
  return /^data: (.*)$/m.exec(text)?.[1] ?? "";
}

/** All of an answer, or what an endless one begins with. */
function begun(answer: Response, type: string): Promise<string> {
  return type === "application/x-ndjson" ? until(answer, (so) => so !== "") : answer.text();
}

async function until(answer: Response, isEnough: (text: string) => boolean): Promise<string> {
  let text = "";
  for await (const chunk of answer.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (isEnough(text)) break;
  }
  return text;
}

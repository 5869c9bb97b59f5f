import { expect } from "vitest";
import { type JsonObject, stringAt } from "../../src/core/json.ts";
import type { RouteExample } from "../../src/server/openapi/description.ts";
import { EXAMPLE_IDS } from "../../src/server/openapi/path-parameters.ts";
import type { ServeProcess } from "./serve.fixture.ts";

/** What stands in the place of the ids of examples. */
export type RealIds = Readonly<Record<string, string>>;

const CLIENT = "client_c11e0000-0000-4000-8000-000000000001";

/** A server on which the examples of all routes can be sent. */
export class ReferenceScene {
  readonly #server: ServeProcess;
  readonly #token: string;

  constructor(server: ServeProcess, token: string) {
    this.#server = server;
    this.#token = token;
  }

  /** Sends an example, with these ids in the place of its own. */
  send(method: string, path: string, { query, headers, body }: RouteExample, ids: RealIds) {
    const all = Object.entries({ [EXAMPLE_IDS.workspace]: this.#server.workspace, ...ids });
    const real = (text: string) =>
      all.reduce((so, [one, other]) => so.replaceAll(one, other), text);
    const inPath = path.replaceAll(/\{([^}]*)\}/g, (_, example) =>
      encodeURIComponent(real(example)),
    );
    const search = new URLSearchParams(query).toString();
    return fetch(`${this.#server.url}${inPath}${search === "" ? "" : `?${search}`}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        "x-qwen-client-id": CLIENT,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: real(JSON.stringify(body)) }),
    });
  }

  async call(method: string, path: string, body?: JsonObject): Promise<JsonObject> {
    const answer = await this.send(method, path, body === undefined ? {} : { body }, {});
    const text = await answer.text();
    expect(answer.ok, `${method} ${path}: ${text}`).toBe(true);
    return text === "" ? {} : JSON.parse(text);
  }

  /** A session in which nothing has been said. */
  async session(): Promise<RealIds> {
    const made = await this.call("POST", "/session", { sessionScope: "thread", agent: "echo" });
    return { [EXAMPLE_IDS.session]: textAt(made, "sessionId") };
  }

  /** A session with a turn that has ended. */
  async spoken(...script: readonly string[]): Promise<RealIds> {
    const ids = await this.session();
    const sent = await this.prompt(ids, script, "?wait=60s");
    return { ...ids, [EXAMPLE_IDS.prompt]: textAt(sent, "promptId") };
  }

  /** A session whose turn goes on until it is cancelled. */
  async busy(...script: readonly string[]): Promise<RealIds> {
    const ids = await this.session();
    await this.prompt(ids, script.length === 0 ? ["hang"] : script);
    return ids;
  }

  /** A session whose agent asks. */
  async asking(): Promise<RealIds> {
    const ids = await this.busy("ask kind=execute command=ls");
    const requestId = await this.#listed(ids, "/approvals", "asks", "requestId");
    return { ...ids, [EXAMPLE_IDS.ask]: requestId };
  }

  /** A session with a grant. */
  async granted(): Promise<RealIds> {
    const ids = await this.asking();
    const vote = { outcome: { outcome: "selected", optionId: "allow_always" } };
    await this.call("POST", `/permission/${ids[EXAMPLE_IDS.ask]}`, vote);
    const key = await this.#listed(ids, "/approvals", "grants", "key");
    return { ...ids, [EXAMPLE_IDS.grantKey]: key };
  }

  /** A session whose agent has delegated something. */
  async delegating(): Promise<RealIds> {
    const ids = await this.busy('mcp delegate {"task":"hang"}');
    const childId = await this.#listed(ids, "/children", "children", "childId");
    return { ...ids, [EXAMPLE_IDS.child]: childId };
  }

  /** A session in which a shell command runs. */
  async working(): Promise<RealIds> {
    const ids = await this.session();
    const shell = { body: { command: "sleep 600" } };
    void this.send("POST", `/session/${ids[EXAMPLE_IDS.session]}/shell`, shell, {}).catch(() => {});
    const id = await this.#listed(ids, "/tasks", "tasks", "id");
    return { ...ids, [EXAMPLE_IDS.task]: id };
  }

  prompt(ids: RealIds, script: readonly string[], query = ""): Promise<JsonObject> {
    const prompt = [{ type: "text", text: script.join("\n") }];
    return this.call("POST", `/session/${ids[EXAMPLE_IDS.session]}/prompt${query}`, { prompt });
  }

  async #listed(ids: RealIds, path: string, list: string, field: string): Promise<string> {
    let found = "";
    const look = async () => {
      const view = await this.call("GET", `/session/${ids[EXAMPLE_IDS.session]}${path}`);
      found = String(Object([view[list]].flat()[0])[field] ?? "");
      return found;
    };
    await expect.poll(look, { timeout: 60_000 }).not.toBe("");
    return found;
  }
}

export function textAt(body: JsonObject, key: string): string {
  return stringAt(body, key) ?? "";
}

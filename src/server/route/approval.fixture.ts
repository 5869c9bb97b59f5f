import { expect } from "vitest";
import type { JsonObject } from "../../core/json.ts";
import { StreamClient } from "../http/stream-client.fixture.ts";
import { People, type Person } from "../identity/people.fixture.ts";
import { heard } from "./work.fixture.ts";

type Options = Parameters<typeof People.open>[0];

/** A session of Ada's, who owns the place, with a stream of all that happens in it. */
export class Approvals {
  readonly people: People;
  readonly ada: Person;
  readonly path: string;
  readonly stream: StreamClient;

  private constructor(people: People, ada: Person, path: string, stream: StreamClient) {
    this.people = people;
    this.ada = ada;
    this.path = path;
    this.stream = stream;
  }

  static async open(body: object = {}, options: Options = {}): Promise<Approvals> {
    const people = await People.open(options);
    const ada = await people.person("ada", "owner");
    return Approvals.made(people, ada, body);
  }

  static async made(people: People, ada: Person, body: object = {}): Promise<Approvals> {
    const whole = { sessionScope: "thread", ...body };
    const made = await ada.call("POST", "/session", { body: whole, clientId: "ada-1" });
    expect(made.status, made.text).toBe(200);
    const path = `/session/${made.body.sessionId}`;
    const headers = { ...ada.headers, "last-event-id": "0" };
    const stream = await StreamClient.open(people.world, `${path}/events`, headers);
    return new Approvals(people, ada, path, stream);
  }

  call(method: string, rest: string, body?: object) {
    const sent = body === undefined ? {} : { body };
    return this.ada.call(method, `${this.path}${rest}`, { ...sent, clientId: "ada-1" });
  }

  async view(): Promise<JsonObject> {
    const { status, body } = await this.call("GET", "/approvals");
    expect(status).toBe(200);
    return body;
  }

  /** Sends a prompt of these lines; the id of its prompt. */
  async prompt(...script: readonly string[]): Promise<string> {
    const text = script.join("\n");
    const sent = await this.call("POST", "/prompt", { prompt: [{ type: "text", text }] });
    expect(sent.status, sent.text).toBe(202);
    return String(sent.body.promptId);
  }

  /** The same, to its verdict. */
  async turn(...script: readonly string[]): Promise<void> {
    await heard(this.stream, "turn_complete", await this.prompt(...script));
  }

  /** Sends a prompt, and waits until people are asked; the id of the ask. */
  async asked(...script: readonly string[]): Promise<string> {
    const before = this.#count("permission_request");
    await this.prompt(...script);
    await this.stream.until(() => this.#count("permission_request") > before);
    const asks = this.stream.frames.filter(({ event }) => event === "permission_request");
    return String(asks.at(-1)?.data.data.requestId);
  }

  /** Votes for an option, and waits for the turn's end. */
  async vote(requestId: string, optionId: string): Promise<void> {
    const before = this.#count("turn_complete");
    const body = { outcome: { outcome: "selected", optionId } };
    const voted = await this.call("POST", `/permission/${requestId}`, body);
    expect(voted.status, voted.text).toBe(200);
    await this.stream.until(() => this.#count("turn_complete") > before);
  }

  /** Which gate has decided each ask that no person was asked. */
  get decided(): readonly unknown[] {
    const decided = this.stream.frames.filter(({ event }) => event === "permission_decided");
    return decided.map(({ data }) => data.data.gate);
  }

  #count(event: string): number {
    return this.stream.frames.filter((frame) => frame.event === event).length;
  }
}

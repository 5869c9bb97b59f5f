import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { AgentMarks } from "../../agent/process/marks.ts";
import { NO_PERSONA } from "../../core/persona.ts";
import { DONE, ok } from "../../core/result.ts";
import { loaded, skill } from "../../core/skill/skill.fixture.ts";
import { openTools } from "../../tool/open.ts";
import { newWorld } from "../../tool/workspace.fixture.ts";
import type { Called } from "../daemon.fixture.ts";
import { type HeardFrame, StreamClient } from "../http/stream-client.fixture.ts";
import { People, type Person } from "../identity/people.fixture.ts";
import { heard } from "./work.fixture.ts";

type Options = NonNullable<Parameters<typeof People.open>[0]>;

/** The bundled skill that runs a shell, another one that does so, and a plain one. */
const SKILLS = loaded([
  skill("run", "bundled", {
    invocationMode: "tool_dispatch",
    command: "sh",
    commandTool: "shell",
  }),
  skill("deploy", "workspace", {
    invocationMode: "tool_dispatch",
    command: "ship",
    commandTool: "shell",
  }),
  skill("review", "workspace", { command: "rv" }),
]);

/** A team with tokens: Ada owns the tenant, Mel and Max are members. Shells are real. */
export class PolicyTeam {
  readonly people: People;
  readonly ada: Person;
  readonly mel: Person;
  readonly max: Person;

  private constructor(people: People, ada: Person, mel: Person, max: Person) {
    this.people = people;
    this.ada = ada;
    this.mel = mel;
    this.max = max;
  }

  static async open(options: Options = {}): Promise<PolicyTeam> {
    const { marksFolder, root } = await newWorld();
    const tools = await openTools({
      servers: [],
      folder: root,
      env: { PATH: process.env.PATH },
      marks: new AgentMarks(marksFolder),
      secret: () => DONE,
      log: () => {},
    });
    onTestFinished(() => tools.close());
    const loader = { skills: async () => ok(SKILLS), persona: async () => ok(NO_PERSONA) };
    const people = await People.open({ ...options, stage: { loader, tools, ...options.stage } });
    const ada = await people.person("ada", "owner");
    const mel = await people.person("mel", "member");
    return new PolicyTeam(people, ada, mel, await people.person("max", "member"));
  }

  /** The path of a new session of this person, with a stream of all that happens in it. */
  async session(who: Person, body: object = {}): Promise<Room> {
    const whole = { sessionScope: "thread", ...body };
    const made = await who.call("POST", "/session", { body: whole });
    expect(made.status, made.text).toBe(200);
    const path = `/session/${made.body.sessionId}`;
    const headers = { ...this.ada.headers, "last-event-id": "0" };
    const stream = await StreamClient.open(this.people.world, `${path}/events`, headers);
    return new Room(path, stream);
  }

  async policy(change: object): Promise<Called> {
    const { body } = await this.ada.call("GET", "/tenant/policy");
    const set = await this.ada.call("PUT", "/tenant/policy", {
      body: { version: body.version, policy: change },
    });
    expect(set.status, set.text).toBe(200);
    return set;
  }

  /** Whether a command that should not have run has left its mark. */
  isMarked(name = "pwned"): boolean {
    return existsSync(join(this.people.world.stage.folder, name));
  }
}

/** A session as its people reach it. */
export class Room {
  readonly path: string;
  readonly stream: StreamClient;

  constructor(path: string, stream: StreamClient) {
    this.path = path;
    this.stream = stream;
  }

  prompt(who: Person, ...script: readonly string[]): Promise<Called> {
    const body = { prompt: [{ type: "text", text: script.join("\n") }] };
    return who.call("POST", `${this.path}/prompt`, { body });
  }

  async admitted(who: Person, ...script: readonly string[]): Promise<string> {
    const sent = await this.prompt(who, ...script);
    expect(sent.status, sent.text).toBe(202);
    return String(sent.body.promptId);
  }

  /** The verdict of a prompt, whichever it is. */
  async verdict(promptId: string): Promise<HeardFrame> {
    const isIt = ({ event, data }: HeardFrame) =>
      (event === "turn_complete" || event === "turn_error") && data.data.promptId === promptId;
    await this.stream.until(({ frames }) => frames.some(isIt));
    return this.stream.frames.find(isIt) ?? expect.fail();
  }

  /** Sends a line that is answered as a command; the answer. */
  async command(who: Person, line: string) {
    const { data } = (await heard(this.stream, "command_result", await this.admitted(who, line)))
      .data;
    return data;
  }

  /** Sends a prompt, and waits until people are asked; the data of the ask. */
  async asked(who: Person, ...script: readonly string[]) {
    const before = this.all("permission_request").length;
    await this.admitted(who, ...script);
    return this.nextAsk(before);
  }

  async nextAsk(before: number) {
    await this.stream.until(() => this.all("permission_request").length > before);
    return this.all("permission_request")[before] ?? expect.fail();
  }

  vote(who: Person, requestId: unknown, optionId = "allow_once"): Promise<Called> {
    const body = { outcome: { outcome: "selected", optionId } };
    return who.call("POST", `${this.path}/permission/${requestId}`, { body });
  }

  /** Answers the agent's question with what it offers first, so that its turn goes on. */
  async answer(who: Person, { requestId, options }: Readonly<Record<string, unknown>>) {
    const [first] = Array.isArray(options) ? options : [];
    const voted = await this.vote(who, requestId, String(first?.optionId));
    expect(voted.status, voted.text).toBe(200);
  }

  /** The data of all events of this type so far. */
  all(event: string): readonly Readonly<Record<string, unknown>>[] {
    return this.stream.frames.filter((one) => one.event === event).map(({ data }) => data.data);
  }
}

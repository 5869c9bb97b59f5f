import { expect } from "vitest";
import { SESSION_IDLE_MS } from "../../core/limits.ts";
import { StreamClient } from "../http/stream-client.fixture.ts";
import { heard } from "../route/work.fixture.ts";
import { People, type Person } from "./people.fixture.ts";

/** A tenant with tokens, where new sessions are private. */
export class Team {
  readonly people: People;
  readonly own: Person;
  readonly adm: Person;
  readonly ada: Person;
  readonly bob: Person;
  readonly vic: Person;

  private constructor(people: People, persons: readonly [Person, Person, Person, Person, Person]) {
    this.people = people;
    [this.own, this.adm, this.ada, this.bob, this.vic] = persons;
  }

  static async open(options: Parameters<typeof People.open>[0] = {}): Promise<Team> {
    const people = await People.open({
      settings: { token: "unused" },
      visibility: "private",
      ...options,
    });
    return new Team(people, [
      await people.person("own", "owner"),
      await people.person("adm", "admin"),
      await people.person("ada", "member"),
      await people.person("bob", "member"),
      await people.person("vic", "viewer"),
    ]);
  }

  /** A session of its own, and its path. */
  async made(by: Person, body: object = {}, clientId = "a-client") {
    const whole = { sessionScope: "thread", ...body };
    const answer = await by.call("POST", "/session", { body: whole, clientId });
    expect(answer.status, answer.text).toBe(200);
    const sessionId = String(answer.body.sessionId);
    return { sessionId, path: `/session/${sessionId}` };
  }

  share(by: Person, path: string, ...sharedWith: readonly string[]) {
    return by.call("POST", `${path}/visibility`, { body: { visibility: "private", sharedWith } });
  }

  stream(by: Person, path: string): Promise<StreamClient> {
    return StreamClient.open(this.people.world, path, by.headers);
  }

  /** A whole turn of a session, read on the stream of its caller. */
  async turn(by: Person, path: string, text: string): Promise<void> {
    const stream = await this.stream(by, `${path}/events`);
    const body = { prompt: [{ type: "text", text }] };
    const admitted = await by.call("POST", `${path}/prompt`, { body });
    await heard(stream, "turn_complete", String(admitted.body.promptId));
    stream.leave();
  }

  /** Leaves all sessions to the store. */
  async evictAll(): Promise<void> {
    const { daemon, stage } = this.people.world;
    stage.aheadMs += SESSION_IDLE_MS;
    await daemon.host.reapIdle();
    expect(daemon.host.live).toEqual([]);
  }

  async status(by: Person, path: string): Promise<number> {
    return (await by.call("GET", `${path}/status`)).status;
  }
}

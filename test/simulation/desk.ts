import type { Result } from "../../src/core/result.ts";
import type { SessionKey } from "../../src/store/index.ts";
import { nameOf } from "./disk.ts";
import type { Scene } from "./scene.ts";
import type { SimulatedServer } from "./simulated-server.ts";

/** Sends a client's requests to the server that is up. */
export class Desk {
  readonly #scene: Scene;
  readonly #name: string;
  readonly #server: () => SimulatedServer;

  constructor(scene: Scene, name: string, server: () => SimulatedServer) {
    this.#scene = scene;
    this.#name = name;
    this.#server = server;
  }

  /** The number of the server that is up now, or was last. */
  get server(): number {
    return this.#server().number;
  }

  /** Null if there is no server. If that goes away before it has answered, nothing comes. */
  async ask<Value>(
    what: string,
    act: (server: SimulatedServer) => Promise<Result<Value>>,
    key: SessionKey,
  ): Promise<Result<Value> | null> {
    const server = this.#server();
    if (!server.isUp) return null;
    const sentence = `${this.#name} ${what}`;
    this.#scene.known.add(nameOf(key));
    const answered = await server.asked(sentence, act(server));
    const { schedule, judge, disk } = this.#scene;
    schedule.say("answer", `${sentence}: ${answered.ok ? "yes" : answered.refusal.code}`);
    // What is another tenant's is not even there.
    const isKnown = !answered.ok || disk.known.has(nameOf(key));
    judge.holds(isKnown, "P8", () => `${sentence} was answered, and ${nameOf(key)} never was`);
    return answered;
  }
}

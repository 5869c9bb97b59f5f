import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import {
  TOOLBOX_GREETING_BYTES_MAX,
  TOOLBOX_GREETING_MS_MAX,
  TOOLBOX_LINE_BYTES_MAX,
  TOOLBOX_OUTBOX_BYTES_MAX,
} from "../../core/limits.ts";
import type { Clock } from "../../platform/clock.ts";
import { LineSplitter } from "../../wire/rpc.ts";
import { McpConversation } from "./conversation.ts";
import type { OpenToolbox } from "./open-toolbox.ts";

const CHALLENGE_BYTES = 32;

export interface ConnectionDeps {
  readonly clock: Clock;
  /** Which user has proven it by this challenge; null if none has. */
  proven(challenge: string): Promise<number | null>;
  /** The toolbox of this secret. */
  find(secret: string): OpenToolbox | null;
  /** Something was wrong with who connected. */
  refused(because: string): void;
  /** It is known whose connection it is, or it is over. */
  greeted(): void;
}

/**
 * One connection of an agent's process. It gets nothing before it has shown the secret of an open
 * toolbox, and that it runs as the user of that agent.
 */
export class ToolboxConnection {
  readonly #socket: Socket;
  readonly #deps: ConnectionDeps;
  readonly #challenge = randomBytes(CHALLENGE_BYTES).toString("hex");
  #greeting = Buffer.alloc(0);
  #conversation: McpConversation | null = null;
  #leave: () => void = () => {};

  constructor(socket: Socket, deps: ConnectionDeps) {
    this.#socket = socket;
    this.#deps = deps;
    const callOff = deps.clock.after(TOOLBOX_GREETING_MS_MAX, () => this.#refuse("it was silent"));
    const greet = (chunk: Buffer) => {
      this.#greeting = Buffer.concat([this.#greeting, chunk]);
      const isLong = this.#greeting.length > TOOLBOX_GREETING_BYTES_MAX;
      if (!isLong && !this.#greeting.includes("\n")) return;
      callOff();
      socket.off("data", greet).pause();
      const said = this.#greeting.toString("latin1");
      // What comes behind the line comes too early: the server has not said welcome.
      if (isLong || said.indexOf("\n") < said.length - 1) this.#refuse("it said too much");
      else void this.#check(said.trimEnd());
    };
    socket.on("data", greet);
    socket.on("error", () => {});
    socket.on("close", () => {
      callOff();
      this.#conversation?.end();
      this.#leave();
      deps.greeted();
    });
    socket.write(`${this.#challenge}\n`);
  }

  end() {
    this.#socket.destroy();
  }

  /** Also without a secret the proof is looked for, and removed. */
  async #check(secret: string): Promise<void> {
    const uid = await this.#deps.proven(this.#challenge);
    if (this.#socket.destroyed) return;
    const toolbox = this.#deps.find(secret);
    if (toolbox === null) return this.#refuse("it has no secret of an open session");
    if (uid !== toolbox.uid) return this.#refuse("it runs as another user");
    const settled = async () => this.#conversation?.settled();
    const place = toolbox.join({ settled, end: () => this.end() });
    if (place === null) return this.#refuse("there are too many connections");
    this.#leave = place.leave;
    this.#deps.greeted();
    this.#converse(toolbox, place.prefix);
  }

  #refuse(because: string) {
    if (this.#socket.destroyed) return;
    this.#deps.refused(because);
    this.end();
  }

  #converse(toolbox: OpenToolbox, prefix: string) {
    const socket = this.#socket;
    const { tools } = toolbox;
    const admitCall = () => toolbox.admitCall();
    const send = (line: string) => void socket.write(line);
    const { clock } = this.#deps;
    const conversation = new McpConversation({ tools, clock, prefix, admitCall, send });
    this.#conversation = conversation;
    const lines = new LineSplitter(TOOLBOX_LINE_BYTES_MAX);
    socket.on("drain", () => socket.resume());
    socket.on("data", (chunk: Buffer) => {
      for (const line of lines.feed(chunk)) conversation.receive(line);
      // An agent that does not read its answers is not read, either.
      if (socket.writableLength > TOOLBOX_OUTBOX_BYTES_MAX) socket.pause();
    });
    socket.write("welcome\n");
    socket.resume();
  }
}

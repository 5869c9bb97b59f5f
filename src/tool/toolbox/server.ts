import { chmod } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import {
  RUN_FOLDER_TOUCH_MS,
  TOOLBOX_GREETINGS_MAX,
  TOOLBOXES_CALLS_MAX,
  TOOLBOXES_CONNECTIONS_MAX,
  TOOLBOXES_MAX,
} from "../../core/limits.ts";
import type { Log } from "../../core/log.ts";
import type { Result } from "../../core/result.ts";
import type { CallOff, Clock } from "../../platform/clock.ts";
import type { OfferedTool, Toolbox, Toolboxes, ToolboxRequest } from "../toolbox.ts";
import { ToolboxConnection } from "./connection.ts";
import { OpenToolbox, TenantCount } from "./open-toolbox.ts";
import type { RunFolder } from "./run-folder.ts";

export interface ToolboxServerOptions {
  readonly folder: RunFolder;
  /** Whether agents run as other users of the system. */
  readonly isShared: boolean;
  /** The user that an agent runs as, or a sentence that says why it is offered no tools. */
  userOf(agent: string): number | string;
  /** Registers a value that must never reach a disk; a toolbox is not opened if this fails. */
  secret(value: string): Result<void>;
  /** The value opens nothing any more. */
  secretGone(value: string): void;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The toolboxes of a server, behind one socket. It listens in its run folder; agents reach it by a
 * relay that they start.
 */
export class ToolboxServer implements Toolboxes {
  readonly #options: ToolboxServerOptions;
  readonly #server: Server;
  readonly #toolboxes = new Map<string, OpenToolbox>();
  readonly #counts = {
    toolboxes: new TenantCount(TOOLBOXES_MAX),
    connections: new TenantCount(TOOLBOXES_CONNECTIONS_MAX),
    calls: new TenantCount(TOOLBOXES_CALLS_MAX),
  };
  /** All sockets; of those that have not said whose they are, the oldest is the first. */
  readonly #sockets = new Set<Socket>();
  readonly #greeting = new Set<ToolboxConnection>();
  #refusals = 0;
  #endTouch: CallOff = () => {};
  #isClosed = false;

  private constructor(options: ToolboxServerOptions) {
    this.#options = options;
    this.#server = createServer((socket) => this.#connected(socket));
    this.#server.on("error", (thrown) =>
      options.log("no tools for agents", { because: `${thrown}` }),
    );
  }

  /** Rejects if the system does not let it listen. */
  static async listen(options: ToolboxServerOptions): Promise<ToolboxServer> {
    const toolboxes = new ToolboxServer(options);
    const server = toolboxes.#server;
    const { socket } = options.folder;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once("error", reject).listen(socket, resolve);
    await promise;
    server.off("error", reject);
    await chmod(socket, options.isShared ? 0o666 : 0o600);
    toolboxes.#touchLater();
    return toolboxes;
  }

  open({ tenantId, agent }: ToolboxRequest, tools: readonly OfferedTool[]): Toolbox | string {
    const { folder, secret, secretGone } = this.#options;
    if (this.#isClosed) return "the server is stopping";
    const uid = this.#options.userOf(agent);
    if (typeof uid === "string") return uid;
    const giveBack = this.#counts.toolboxes.take(tenantId);
    if (giveBack === null) return "too many sessions have tools of the server at the moment";
    const toolbox = new OpenToolbox({ tenantId, uid, tools, counts: this.#counts });
    if (!secret(toolbox.secret).ok) {
      giveBack();
      return "the server has too many secrets to guard";
    }
    this.#toolboxes.set(toolbox.name, toolbox);
    const close = () => {
      if (!this.#toolboxes.delete(toolbox.name)) return;
      toolbox.end();
      giveBack();
      secretGone(toolbox.secret);
    };
    const server = toolbox.serverWith([process.execPath, folder.relay], folder.socket);
    return { server, settled: () => toolbox.settled(), close };
  }

  /** Ends all connections, and with them the relays; removes the run folder. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#endTouch();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    await this.#options.folder.remove();
  }

  #connected(socket: Socket) {
    const { folder, clock } = this.#options;
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    const connection: ToolboxConnection = new ToolboxConnection(socket, {
      clock,
      proven: (challenge) => folder.proven(challenge),
      find: (secret) => this.#find(secret),
      refused: (because) => this.#refused(because),
      greeted: () => this.#greeting.delete(connection),
    });
    this.#greeting.add(connection);
    const [oldest] = this.#greeting;
    if (this.#greeting.size > TOOLBOX_GREETINGS_MAX) oldest?.end();
  }

  #find(secret: string): OpenToolbox | null {
    const found = this.#toolboxes.get(OpenToolbox.nameOf(secret));
    return found?.isOpenedBy(secret) ? found : null;
  }

  /** Logged ever more rarely: any process of the machine's users may try as often as it likes. */
  #refused(because: string) {
    this.#refusals += 1;
    const count = this.#refusals;
    if ((count & (count - 1)) === 0)
      this.#options.log("tool connection refused", { because, count });
  }

  #touchLater() {
    this.#endTouch = this.#options.clock.after(RUN_FOLDER_TOUCH_MS, () => {
      void this.#options.folder.touch();
      this.#touchLater();
    });
  }
}

import { EventEmitter } from "node:events";
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import type { Start } from "./kept-thread-host.ts";

const HOST = new URL("kept-thread-host.ts", import.meta.url);

/** What a test has open at a time, and a little more. */
const IDLE_MAX = 8;
/** What a program leaves in memory goes with its thread. */
const PROGRAMS_MAX = 32;

/** What is in memory is copied, in tables, for each program that a test starts. */
const YOUNG_MB_MAX = 12;

const BUILD = new URL("../dist/", import.meta.url).href;

interface Host {
  readonly worker: Worker;
  programs: number;
  /** Whose program it runs now. */
  guest: KeptThread | null;
}

const idle: Host[] = [];

/**
 * Stands in for `Worker` in tests, and takes a thread that is there already: to start one takes ten
 * times as long as to open a store, and tests open thousands. The program is loaded anew, so it
 * has no state of the one before it. One that fails takes its thread with it.
 */
export class KeptThread extends EventEmitter<{ message: [unknown]; error: [Error]; exit: [] }> {
  readonly #port: MessagePort;
  readonly #host: Host;
  #isPortClosed = false;

  /** For the programs of the build; what a test has written has a thread of its own. */
  static start(script: URL, options: { readonly workerData: unknown }): KeptThread | Worker {
    const isOfBuild = script.href.startsWith(BUILD);
    return isOfBuild ? new KeptThread(script, options) : new Worker(script, options);
  }

  constructor(script: URL, { workerData }: { readonly workerData: unknown }) {
    super();
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#host = idle.pop() ?? newHost();
    this.#host.guest = this;
    this.#host.programs += 1;
    this.#host.worker.ref();
    port1.on("message", (message) => this.emit("message", message));
    port1.once("close", () => {
      this.#isPortClosed = true;
    });
    const start: Start = { script: script.href, port: port2, workerData, env: { ...process.env } };
    this.#host.worker.postMessage(start, [port2]);
  }

  postMessage(message: unknown): void {
    this.#port.postMessage(message);
  }

  /** All that it said has been heard once its port is closed, too. */
  programEnded(): void {
    if (!this.#isPortClosed) {
      this.#port.once("close", () => this.#end());
      return;
    }
    this.#end();
  }

  #end(): void {
    const host = this.#host;
    if (host.guest !== this) return;
    host.guest = null;
    host.worker.unref();
    if (host.programs < PROGRAMS_MAX && idle.length < IDLE_MAX) idle.push(host);
    else void host.worker.terminate();
    this.emit("exit");
  }
}

function newHost(): Host {
  const worker = new Worker(HOST, { resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB_MAX } });
  const host: Host = { worker, programs: 0, guest: null };
  host.worker.on("message", () => host.guest?.programEnded());
  host.worker.on("error", (why) => host.guest?.emit("error", why));
  host.worker.on("exit", () => {
    const { guest } = host;
    host.guest = null;
    const at = idle.indexOf(host);
    if (at >= 0) idle.splice(at, 1);
    guest?.emit("exit");
  });
  return host;
}

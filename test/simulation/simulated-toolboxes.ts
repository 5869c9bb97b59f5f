import { isObject, type JsonObject } from "../../src/core/json.ts";
import type { OfferedTool, Toolbox, Toolboxes, ToolboxRequest } from "../../src/tool/toolbox.ts";
import type { Scene } from "./scene.ts";

/** The tools that agents of one server are offered, without the processes between them. */
export class SimulatedToolboxes implements Toolboxes {
  readonly #scene: Scene;
  /** Those that are open, by the names that agents are given. */
  readonly opened = new Map<string, SimulatedToolbox>();
  /** Calls that are not answered yet, by their numbers. */
  readonly calls = new Map<number, string>();
  #count = 0;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  open(_: ToolboxRequest, tools: readonly OfferedTool[]): Toolbox | string {
    const { children, ids } = this.#scene;
    if (children?.happens(0.03)) return "there is none today";
    const name = ids.text("toolbox");
    const gone = new AbortController();
    const travelling = new Set<Promise<void>>();
    this.opened.set(name, { tools, signal: gone.signal, travelling });
    const settled = async () => void (await Promise.all(travelling));
    const close = () => {
      this.opened.delete(name);
      gone.abort();
    };
    return { server: { name, command: "simulated", args: [], env: [] }, settled, close };
  }

  /** The one that an agent was given with its session. */
  of(server: JsonObject | null | undefined): SimulatedToolbox | null {
    const name = isObject(server) ? server.name : null;
    return typeof name === "string" ? (this.opened.get(name) ?? null) : null;
  }

  /** Watches that a call is answered; the answer of one that was taken back goes nowhere. */
  async asked<Value>(what: string, answer: Promise<Value>, signal: AbortSignal): Promise<Value> {
    this.#count += 1;
    const number = this.#count;
    this.calls.set(number, what);
    signal.addEventListener("abort", () => this.calls.delete(number));
    const value = await answer;
    this.calls.delete(number);
    return value;
  }

  crash() {
    this.opened.clear();
    this.calls.clear();
  }
}

export interface SimulatedToolbox {
  readonly tools: readonly OfferedTool[];
  /** Fires when it is closed. */
  readonly signal: AbortSignal;
  /** Calls that an agent has made and that have not come in. */
  readonly travelling: Set<Promise<void>>;
}

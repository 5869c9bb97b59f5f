import { expect } from "vitest";
import type { LogEvent } from "../../core/replay/compact.ts";
import type { Creation } from "../../core/session/state.ts";
import type { ToolAnswer } from "../../tool/tool.ts";
import type { OfferedTool, Toolboxes } from "../../tool/toolbox.ts";
import { echo, type Hand, Stage } from "../stage.fixture.ts";

type StageOptions = NonNullable<Parameters<typeof Stage.open>[0]>;

/** What a child comes to, as its parent's agent is told it. */
export interface ChildResult {
  readonly state: string;
  readonly text: string;
  readonly error?: { readonly code: string; readonly message: string };
  readonly usage: { readonly tokens: { readonly input: number }; readonly costMicro: number };
}

/** Tools that were offered, by agent session in the order of their opening. */
export class OpenedToolboxes implements Toolboxes {
  readonly opened: (readonly OfferedTool[])[] = [];
  closed = 0;
  /** Until when calls of a turn that has ended may still come in. */
  settling = Promise.resolve();

  /** The tool to delegate with, of the agent session that was opened as the `at`-th. */
  delegateTool(at = 0): OfferedTool {
    return this.opened[at]?.find(({ name }) => name === "delegate") ?? expect.fail();
  }

  open(_request: unknown, tools: readonly OfferedTool[]) {
    this.opened.push(tools);
    const close = () => {
      this.closed += 1;
    };
    return { server: MCP_SERVER, settled: () => this.settling, close };
  }
}

const MCP_SERVER = { name: "fermata", command: "/bin/true", args: [], env: [] };

/** A session at work whose agent a test lets delegate; its children are real agents. */
export class Delegating {
  readonly stage: Stage;
  readonly hand: Hand;
  readonly toolboxes: OpenedToolboxes;
  #calls = 0;

  private constructor(stage: Stage, hand: Hand, toolboxes: OpenedToolboxes) {
    this.stage = stage;
    this.hand = hand;
    this.toolboxes = toolboxes;
  }

  /** With a turn at work that does not end by itself, unless it has another script. */
  static async begin(
    options: StageOptions = {},
    creation: Partial<Creation> = {},
    script: readonly string[] = ["hang"],
  ): Promise<Delegating> {
    const toolboxes = new OpenedToolboxes();
    const stage = await Stage.open({
      profiles: new Map([echo()]),
      toolboxes,
      ...options,
      settings: { childrenOpenMax: 4, ...options.settings },
    });
    const hand = await stage.created(creation);
    await hand.prompt(...script);
    await hand.live.until(({ connection }) => connection.sessionState === "running");
    return new Delegating(stage, hand, toolboxes);
  }

  /** The tool of the session's agent, or that of a child. */
  tool(at = 0): OfferedTool {
    return this.toolboxes.delegateTool(at);
  }

  call(
    input: Readonly<Record<string, unknown>>,
    use: { readonly callId?: string; readonly signal?: AbortSignal } = {},
  ): Promise<ToolAnswer> {
    this.#calls += 1;
    const { callId = `call-${this.#calls}`, signal = new AbortController().signal } = use;
    return this.tool().call(input, { callId, signal, meta: {}, progress: () => {} });
  }

  /** Delegates a script of echo's, and answers with what came of it. */
  async delegate(...script: readonly string[]): Promise<ChildResult> {
    return resultOf(await this.call({ task: script.join("\n") }));
  }

  /** The same of another agent than the one that delegates. */
  async delegateTo(agent: string, ...script: readonly string[]): Promise<ChildResult> {
    return resultOf(await this.call({ task: script.join("\n"), agent }));
  }

  /** The asks of people so far, of the session's agent and of its children. */
  async asked(count: number) {
    const asks = () => {
      return this.hand.events.filter((event) => event.type === "permission_request");
    };
    await this.stage.until(() => asks().length >= count);
    return asks();
  }

  /** Resolves when so many children have begun. */
  async begun(count: number): Promise<void> {
    const begun = () => this.hand.events.filter(({ type }) => type === "child_session_started");
    await this.stage.until(() => begun().length >= count);
  }

  /** Events of children, by type and what they came to. */
  get story(): readonly string[] {
    return this.hand.events.flatMap(storyOf);
  }

  async cancel(): Promise<void> {
    await this.hand.say("cancel", {});
  }
}

/** What the story of a session has of this event. */
export function storyOf(event: LogEvent): readonly string[] {
  if (event.type === "child_session_ended") {
    return [`${event.data.state} ${event.data.error?.code ?? "-"}`];
  }
  const isTold = event.type === "child_session_started" || event.type.startsWith("turn_");
  return isTold || event.type === "prompt_cancelled" ? [event.type] : [];
}

export function resultOf({ text }: ToolAnswer): ChildResult {
  const result: ChildResult = JSON.parse(text);
  return result;
}

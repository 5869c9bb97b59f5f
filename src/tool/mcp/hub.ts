import { fail, ok, type Result } from "../../core/result.ts";
import { answered, failed, type ToolAnswer, type ToolCall, type ToolInfo } from "../tool.ts";
import type { McpLink } from "./link.ts";
import { inputFrom, type McpTool, textOfResult } from "./tools.ts";

/** Why the tools of a configured server are absent. */
export interface McpProblem {
  readonly server: string;
  readonly reason: string;
}

/** The tools of all configured servers, each under its server's name and its own. */
export class McpHub {
  readonly #links: ReadonlyMap<string, McpLink>;
  /** Without the secrets that servers were given: a tool may repeat them. */
  readonly #redacted: (text: string) => string;

  constructor(links: readonly McpLink[], redacted: (text: string) => string) {
    this.#links = new Map(links.map((link) => [link.name, link]));
    this.#redacted = redacted;
  }

  async list(): Promise<readonly ToolInfo[]> {
    const lists = [...this.#links.values()].map(async (link) => {
      const tools = await link.offered();
      return tools.map(({ name, description }) => ({ name: `${link.name}:${name}`, description }));
    });
    return (await Promise.all(lists)).flat();
  }

  async callOf(name: string, words: string): Promise<Result<ToolCall>> {
    const found = await this.#find(name);
    if (!found.ok) return found;
    const tool = found.value;
    const input = inputFrom(words, tool);
    if (typeof input === "string") return fail("tool_input_invalid", { tool: name, reason: input });
    // Never `execute`: an input with a command in it would pass for a command line that is allowed.
    const kind = tool.isReadOnly ? "read" : "other";
    return ok({ name, title: name, kind, input, locations: [] });
  }

  async run({ name, input }: ToolCall, signal: AbortSignal): Promise<ToolAnswer> {
    const { link, tool } = this.#split(name);
    if (link === undefined) return failed(`There is no tool "${name}".`);
    try {
      const result = await link.call(tool, input, signal);
      const text = this.#redacted(textOfResult(result));
      return result.isError === true ? failed(text) : answered(text);
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : String(thrown);
      return failed(this.#redacted(`The tool "${name}" gave no answer: ${reason}`));
    }
  }

  problems(): readonly McpProblem[] {
    return [...this.#links.values()].flatMap(({ name, problem }) =>
      problem === null ? [] : [{ server: name, reason: problem }],
    );
  }

  async close(): Promise<void> {
    await Promise.all([...this.#links.values()].map((link) => link.close()));
  }

  async #find(name: string): Promise<Result<McpTool>> {
    const { link, tool } = this.#split(name);
    if (link === undefined) return fail("tool_unknown", { tool: name });
    try {
      const found = (await link.tools()).find((one) => one.name === tool);
      return found === undefined ? fail("tool_unknown", { tool: name }) : ok(found);
    } catch (thrown) {
      const reason = link.problem ?? (thrown instanceof Error ? thrown.message : String(thrown));
      return fail("tool_unavailable", { tool: name, reason });
    }
  }

  #split(name: string) {
    const [server = "", ...rest] = name.split(":");
    return { link: this.#links.get(server), tool: rest.join(":") };
  }
}

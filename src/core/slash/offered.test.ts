import { describe, expect, it } from "vitest";
import { NO_SKILLS } from "../skill/skill.ts";
import { BUILT_IN_NAMES, offeredCommands } from "./commands.ts";
import { resolveSlash } from "./resolve.ts";
import { SNAPSHOT, skill } from "./snapshot.fixture.ts";

const own = (name: string) => ({ name, description: `The agent's ${name}.`, input: null });
const names = (commands: readonly object[]) => commands.map((command) => Object(command).name);

describe("the commands that a session offers", () => {
  it("are ours, then the skills' aliases, then the agent's own", () => {
    const all = names(offeredCommands(SNAPSHOT, [own("init"), own("compress")]));
    expect(all).toEqual([...BUILT_IN_NAMES, "ci", "sh", "init", "compress"]);
  });

  it("have no name twice: ours and the aliases stand before the agent's", () => {
    const all = offeredCommands(SNAPSHOT, [own("ci"), own("help"), own("init")]);
    expect(names(all)).toEqual([...BUILT_IN_NAMES, "ci", "sh", "init"]);
    const described = all.map((command) => String(command.description));
    expect(described.filter((text) => text.startsWith("The agent's"))).toEqual([
      "The agent's init.",
    ]);
  });

  it("say what may follow them", () => {
    const all = offeredCommands(SNAPSHOT, []);
    const inputs = new Map(all.map(({ name, input }) => [name, input]));
    expect(inputs.get("skills")).toBeNull();
    expect(inputs.get("help")).toEqual({ hint: "[skill]" });
    expect(inputs.get("skill")).toEqual({ hint: "NAME [text]" });
    expect(inputs.get("sh")).toEqual({ hint: "[text]" });
  });

  it("say what an alias is for, also where its skill does not", () => {
    const entries = [skill("quiet", { command: "q", summary: "" })];
    const alias = offeredCommands({ entries, diagnostics: [] }, []).at(-1);
    expect(alias).toMatchObject({ name: "q", description: "The skill quiet." });
  });

  it("are all understood", () => {
    for (const { name } of offeredCommands(SNAPSHOT, [own("init")])) {
      const found = resolveSlash(`/${name}`, SNAPSHOT, ["init"]);
      const isKnown = found.kind !== "refused" || found.result.code === "invalid_args";
      expect(isKnown, String(name)).toBe(true);
    }
    expect(names(offeredCommands(NO_SKILLS, []))).toEqual([...BUILT_IN_NAMES]);
  });
});

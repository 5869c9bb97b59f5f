import { describe, expect, it } from "vitest";
import { dataOf, Life, sessionName, types } from "../life.fixture.ts";

describe("the name of a session that has none", () => {
  const name = sessionName("fix-login");

  it("P7: comes with its first prompt that has words, and with no later one", () => {
    const life = new Life().ready();
    expect(types(life.prompt("p1"))).not.toContain("session_named");
    const named = life.prompt("p2", { name }).events;
    expect(dataOf(named, "session_named")).toMatchObject([{ name, source: "auto", from: null }]);
    expect(named.map(({ type }) => type).slice(0, 2)).toEqual(["prompt_admitted", "session_named"]);
    expect(types(life.prompt("p3", { name: sessionName("other") }))).not.toContain("session_named");
    expect(life.now.chosen.name).toBe(name);
  });

  it("P7: does not come where one was given, nor with a prompt that is refused", () => {
    const life = new Life().ready({ name });
    expect(types(life.prompt("p1", { name: sessionName("other") }))).not.toContain("session_named");
    const other = new Life().ready();
    other.prompt("p1", { name, content: [] });
    expect(other.now.chosen).not.toHaveProperty("name");
  });
});

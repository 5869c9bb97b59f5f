import { describe, expect, it } from "vitest";
import { approvalKeys, coveredKeys, tierOf } from "./approval-key.ts";

const here = (path: unknown) => ({ path });
const keys = (toolCall: Record<string, unknown>) => approvalKeys(toolCall, "/w");

function command(line: unknown, args?: unknown) {
  return { kind: "execute", title: "git status", rawInput: { command: line, args } };
}

describe("the approval keys of a tool call", () => {
  it.each<[string, Record<string, unknown>, string[]]>([
    ["its command", command("git status"), ["execute:git status"]],
    ["its command and arguments", command("git", ["push"]), ["execute:git push"]],
    ["its command without the shell around it", command(["bash", "-lc", "a b"]), ["execute:a b"]],
    [
      "its command, whatever kind it says it is",
      { kind: "other", title: "shell", rawInput: { command: "rm x" } },
      ["execute:rm x"],
    ],
    [
      "its command, by the other name that agents have for it",
      { kind: "execute", title: "Bash", rawInput: { cmd: "rm x" } },
      ["execute:rm x"],
    ],
    [
      "its command and its places, where an editor has sub-commands",
      { kind: "edit", title: "t", rawInput: { command: "create", path: "/w/a" } },
      ["execute:create", "edit:/w/a"],
    ],
    [
      "its command in the directory that it names",
      { kind: "execute", rawInput: { command: "ls", workdir: "sub dir" } },
      ["execute:cd '/w/sub dir' && ls"],
    ],
    [
      "its command alone where it names the session's own directory",
      { kind: "execute", rawInput: { command: "ls", cwd: "/w/", description: "List", timeout: 5 } },
      ["execute:ls"],
    ],
    [
      "all that it says, where something changes how the command runs",
      { kind: "execute", title: "t", rawInput: { command: "ls", env: { PATH: "x" } } },
      ['execute=t {"command":"ls","env":{"PATH":"x"}}'],
    ],
    [
      "all that it says, where something is sent to an address",
      { kind: "fetch", title: "t", rawInput: { url: "https://a/", method: "POST" } },
      ['fetch=t {"method":"POST","url":"https://a/"}'],
    ],
    [
      "all that it says of a move, which has two places",
      { kind: "move", title: "t", locations: [here("/a")], rawInput: { from: "/a", to: "/b" } },
      ['move=t {"from":"/a","to":"/b"}'],
    ],
    ["its place", { kind: "edit", title: "Edit", locations: [here("/a")] }, ["edit:/a"]],
    [
      "each of its places, once, in their order",
      { kind: "edit", locations: [here("/b"), here("/a"), here("/b")] },
      ["edit:/b", "edit:/a"],
    ],
    [
      "the places of its diffs as well",
      { kind: "edit", locations: [here("/a")], content: [{ type: "diff", path: "/b" }] },
      ["edit:/a", "edit:/b"],
    ],
    [
      "the path of its input, where it names no place",
      { kind: "read", title: "Read", locations: [], rawInput: { file_path: "/a" } },
      ["read:/a"],
    ],
    [
      "the address that it fetches",
      { kind: "fetch", title: "Fetch docs", rawInput: { url: "https://a.example/" } },
      ["fetch:https://a.example/"],
    ],
    [
      "the words that it searches for",
      { kind: "search", title: "Search", rawInput: { query: "fermata" } },
      ["search:fermata"],
    ],
    [
      "all that it says, where that is none of these",
      { title: "mcp__tool", rawInput: { b: [1, { z: 1, y: 2 }], a: "x" } },
      ['other=mcp__tool {"a":"x","b":[1,{"y":2,"z":1}]}'],
    ],
    [
      "all that it says, where an unknown tool has a path: reading is not deleting",
      { kind: "other", title: "remove", rawInput: { path: "/a" } },
      ['other=remove {"path":"/a"}'],
    ],
  ])("are %s", (_what, toolCall, expected) => {
    expect(keys(toolCall)).toEqual(expected);
  });

  it.each<[string, Record<string, unknown>]>([
    ["nothing at all", {}],
    ["a title alone", { kind: "execute", title: "Bash" }],
    ["a title and some text", { kind: "execute", title: "Bash", content: [{ type: "content" }] }],
    ["a title and an empty input", { kind: "other", title: "x", rawInput: {} }],
    ["an empty command", command("")],
    ["a command that is no text", command({ line: "rm" })],
    ["a command that is null", command(null)],
    ["a command with a word that is no text", command(["rm", { path: "/" }])],
    ["a place without a path", { kind: "edit", title: "Edit", locations: [{ line: 3 }] }],
    ["a place with an empty path", { kind: "edit", title: "Edit", locations: [here("")] }],
    ["a place that is no object", { kind: "edit", title: "Edit", locations: ["/a"] }],
    ["one bad place among good ones", { kind: "edit", locations: [here("/a"), here(null)] }],
    ["an empty kind", { kind: "", rawInput: { a: 1 } }],
    ["a kind that poses as a key", { kind: "edit:/src/a", locations: [here("/etc/passwd")] }],
    ["a kind that poses as a whole call", { kind: "edit=x", rawInput: { a: 1 } }],
  ])("are none for %s: it does not say what it does", (_what, toolCall) => {
    expect(keys(toolCall)).toEqual([]);
  });

  it("P10: are none for a call with more than 256 places, or of more than 128 KiB", () => {
    const at = (count: number) => Array.from({ length: count }, (_, n) => here(`/${n}`));
    expect(keys({ kind: "edit", locations: at(256) })).toHaveLength(256);
    expect(keys({ kind: "edit", locations: at(257) })).toEqual([]);
    expect(keys(command("x".repeat(131_000)))).toHaveLength(1);
    expect(keys(command("x".repeat(131_072)))).toEqual([]);
  });
});

describe("what a tool call covers beside its keys", () => {
  it.each<[string, Record<string, unknown>, string[]]>([
    ["the path of a kind that ACP has no word for", { kind: "other" }, ["edit:/a"]],
    ["the path of an agent's own kind", { kind: "patch" }, ["edit:/a"]],
    ["nothing of one that thinks", { kind: "think" }, []],
    ["nothing of one that fetches", { kind: "fetch" }, []],
    ["nothing of one that changes the mode", { kind: "switch_mode" }, []],
    ["nothing of one that reads", { kind: "read" }, []],
  ])("is %s", (_what, call, expected) => {
    expect(coveredKeys({ ...call, locations: [here("/a")] }, "/w")).toEqual(expected);
  });

  it("is the command itself, where it is granted in one setting only", () => {
    const call = { kind: "execute", rawInput: { command: "make", stdin: "x" } };
    expect(coveredKeys(call, "/w")).toEqual(["execute:make"]);
    expect(coveredKeys(command("make"), "/w")).toEqual([]);
  });
});

describe("the risk of a tool call", () => {
  it.each<[Record<string, unknown>, string]>([
    [{ kind: "read" }, "read"],
    [{ kind: "read", rawInput: { command: "cat a" } }, "execute"],
    [{ kind: "edit", rawInput: { cmd: "sed -i" } }, "execute"],
    [{ kind: "delete", rawInput: { command: "rm a" } }, "destructive"],
    [{}, "execute"],
  ])("of %j is %s", (toolCall, tier) => {
    expect(tierOf(toolCall)).toBe(tier);
  });
});

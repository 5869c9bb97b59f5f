import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LANGUAGE, readScript } from "./language.ts";

/** The directives of a script as `[verb, args]`. */
function read(...lines: readonly string[]) {
  const script = readScript(lines.join("\n"));
  if (script.kind !== "directives") return script;
  return script.directives.map(({ verb, args }) => [verb, args]);
}

function faultOf(...lines: readonly string[]): string | null {
  const script = readScript(lines.join("\n"));
  return script.kind === "fault" ? script.sentence : null;
}

describe("a prompt", () => {
  it.each([
    "hello there",
    "",
    "\nsay after an empty line",
    " say after a space",
    "say, what is this?",
    "Say hello",
    "constructor",
    "toString and the like",
    "# say",
  ])("is plain if its first line begins with no directive: %j", (text) => {
    expect(readScript(text)).toEqual({ kind: "plain" });
  });

  it("is a script if it does, one directive a line", () => {
    expect(read("say a", "", "# b", "  think c", "hang\r", "say d")).toEqual([
      ["say", { text: "a" }],
      ["think", { text: "c" }],
      ["hang", {}],
      ["say", { text: "d" }],
    ]);
  });

  it("whose script is wrong says in which line, why, and how it is written", () => {
    expect(faultOf("say a", "sing b")).toBe(
      'line 2 of the script: "sing" is no directive; try: help',
    );
    expect(faultOf("chunks 3")).toBe(
      "line 1 of the script: it wants BYTES; it is written: chunks N BYTES",
    );
  });
});

describe("a directive", () => {
  it("takes the rest of its line as text, or a JSON string for what it means", () => {
    expect(read('say  two  "words" ')).toEqual([["say", { text: 'two  "words"' }]]);
    expect(read(String.raw`say "a\nb\u0000"`)).toEqual([["say", { text: "a\nb\0" }]]);
    expect(read('say "a" b')).toEqual([["say", { text: '"a" b' }]]);
  });

  it("takes numbers, with underscores and in powers of 1024", () => {
    expect(read("chunks 1_000 4k")).toEqual([["chunks", { count: 1_000, bytes: 4_096 }]]);
    expect(read("flood 1g")).toEqual([["flood", { bytes: 1_073_741_824 }]]);
  });

  it("takes key=value words, quoted where they have spaces", () => {
    expect(read('tool t kind=edit title="The file" status=open')).toEqual([
      ["tool", { ...NO_TOOL, id: "t", kind: "edit", title: "The file", status: "open" }],
    ]);
    expect(read("tool kind=read")).toEqual([["tool", { ...NO_TOOL, kind: "read" }]]);
    expect(read("ask options=yes:allow_once,no:reject_once tool=t")).toEqual([
      ["ask", { ...NO_ASK, options: ["yes:allow_once", "no:reject_once"], tool: "t" }],
    ]);
    expect(read("question field=color Which color, a=b?")).toEqual([
      ["question", { field: "color", text: "Which color, a=b?" }],
    ]);
    expect(read("usage 10 100 input=5 cost=0.25")).toEqual([
      ["usage", { used: 10, size: 100, input: 5, output: 0, cached: 0, thought: 0, cost: 0.25 }],
    ]);
  });

  it("takes JSON", () => {
    expect(read('call fs/read_text_file {"path": "/a b"}')).toEqual([
      ["call", { method: "fs/read_text_file", params: { path: "/a b" } }],
    ]);
    expect(read("call x")).toEqual([["call", { method: "x", params: {} }]]);
  });

  it.each([
    ["say", "it wants TEXT"],
    ["chunks 1 x", "BYTES is a whole number up to 16777216"],
    ["chunks 1 17m", "BYTES is a whole number up to 16777216"],
    ["chunks -1 1", "N is a whole number up to 10000000"],
    ["chunks 1 2 3", 'nobody expects "3" there'],
    ["tool a color=red", "it knows no color=, only kind= title= path= command= text= status="],
    ["usage 1 2 input=many", "input= is a whole number"],
    ["usage 1 2 cost=much", "cost= is a number"],
    ["update {", "JSON is an object in JSON"],
    ["update []", "JSON is an object in JSON"],
    ["fail lots x", "CODE is a whole number"],
    ["signal SIGNAL", "NAME is one of SIGHUP, SIGINT"],
    ["sleep 1g", "MS is a whole number up to 600000"],
    ["hang on", 'nobody expects "on" there'],
  ])("that is wrong says why: %s", (line, why) => {
    expect(faultOf(line)).toContain(`line 1 of the script: ${why}`);
  });

  it("takes a path only where it looks like one, so that no poem becomes a file", () => {
    expect(faultOf("write a poem")).toContain("it wants PATH, which begins with / or ./");
    expect(read("write ./a poem")).toEqual([["write", { path: "./a", text: "poem" }]]);
    expect(read("read ../a 2 3")).toEqual([["read", { path: "../a", line: 2, limit: 3 }]]);
  });
});

describe("any text", () => {
  const verb = fc.constantFrom(...Object.keys(LANGUAGE));
  const line = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.tuple(verb, fc.string()).map((parts) => parts.join(" ")),
    fc.tuple(verb, fc.stringMatching(/^[a-z0-9="{}\\/. ]{0,30}$/)).map((parts) => parts.join(" ")),
  );

  it("is plain, or a script, or told what is wrong with it", () => {
    const text = fc.array(line, { maxLength: 5 }).map((lines) => lines.join("\n"));
    fc.assert(
      fc.property(text, (any) => {
        const script = readScript(any);
        const first = /^\S*/.exec(any)?.[0] ?? "";
        expect(script.kind === "plain").toBe(!Object.hasOwn(LANGUAGE, first));
        if (script.kind === "fault") expect(script.sentence).toMatch(/^line \d+ of the script: ./);
      }),
    );
  });

  it("as long as it is, is read in bounds", () => {
    const lines = (count: number) => Array.from({ length: count }, () => "hang").join("\n");
    expect(readScript(lines(10_000)).kind).toBe("directives");
    expect(faultOf(lines(10_001))).toContain("at most 10000 directives");
  });
});

const NO_TOOL = {
  id: null,
  kind: null,
  title: null,
  path: null,
  command: null,
  text: null,
  status: "completed",
};
const NO_ASK = {
  kind: "execute",
  title: null,
  path: null,
  command: null,
  options: ["allow_once", "allow_always", "reject_once"],
  tool: null,
};

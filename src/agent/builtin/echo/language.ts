import { constants } from "node:os";
import { ArgumentReader } from "./argument-reader.ts";
import * as limits from "./limits.ts";

/** How a directive is written, what it does, and how its arguments are read. */
interface DirectiveEntry<Args> {
  readonly usage: string;
  readonly says: string;
  readonly read: (from: ArgumentReader) => Args;
}

function entry<Args>(
  usage: string,
  says: string,
  read: (from: ArgumentReader) => Args,
): DirectiveEntry<Args> {
  return { usage, says, read };
}

/** A directive without arguments. */
const bare = (usage: string, says: string) => entry(usage, says, () => ({}));

/** Every directive. A verb that is added here does not compile until `perform.ts` has it too. */
export const LANGUAGE = {
  say: entry("say TEXT", "says TEXT in one chunk", (from) => ({ text: from.text("TEXT") })),
  think: entry("think TEXT", "the same, as a thought", (from) => ({ text: from.text("TEXT") })),
  chunks: entry("chunks N BYTES", "says N numbered chunks of BYTES bytes", (from) => ({
    count: from.count("N", limits.REPEAT_MAX),
    bytes: from.count("BYTES", limits.CHUNK_BYTES_MAX),
  })),
  message: entry("message [ID]", "later chunks carry this messageId, or none", (from) => ({
    id: from.optionalWord(),
  })),
  help: bare("help", "says this list"),
  recall: bare(
    "recall",
    "says how many turns it remembers, the last of them, and what came before this prompt",
  ),
  whoami: bare("whoami", "says its folder, sessions, flags, model, mode and MCP servers"),
  env: entry("env NAME...", "says what these environment variables are", (from) => ({
    names: [from.word("NAME"), ...from.words()],
  })),

  /** `status=open` leaves the call in progress; every other status is sent as it is. */
  tool: entry(
    "tool [ID] [kind= title= path= command= text= status=completed|failed|open]",
    "makes a tool call, or goes on with an open one; any other status is sent as it is",
    (from) => {
      const id = from.optionalName();
      const options = from.options(["kind", "title", "path", "command", "text", "status"]);
      return {
        id,
        kind: options.text("kind"),
        title: options.text("title"),
        status: options.text("status") ?? "completed",
        path: options.text("path"),
        command: options.text("command"),
        text: options.text("text"),
      };
    },
  ),
  plan: entry("plan A|B|C", "sends a plan; the first entry is in progress", (from) => ({
    entries: from.text("A|B|C").split("|"),
  })),
  usage: entry(
    "usage USED SIZE [input= output= cached= thought= cost=]",
    "tells how full the context is, and counts tokens for the turn's answer",
    (from) => {
      const used = from.count("USED", Number.MAX_SAFE_INTEGER);
      const size = from.count("SIZE", Number.MAX_SAFE_INTEGER);
      const options = from.options(["input", "output", "cached", "thought", "cost"]);
      return {
        used,
        size,
        input: options.count("input"),
        output: options.count("output"),
        cached: options.count("cached"),
        thought: options.count("thought"),
        cost: options.amount("cost"),
      };
    },
  ),
  title: entry("title [TEXT]", "names the session, or takes its name away", (from) => ({
    text: from.optionalText(),
  })),
  commands: entry("commands A,B", "offers slash commands", (from) => ({
    names: from.text("A,B").split(","),
  })),
  mode: entry("mode ID", "changes the session's mode by itself", (from) => ({
    modeId: from.word("ID"),
  })),
  config: entry("config ID VALUE", "changes a configuration option by itself", (from) => ({
    id: from.word("ID"),
    value: from.word("VALUE"),
  })),
  update: entry("update JSON", "sends any session update, whatever is in it", (from) => ({
    update: from.json("JSON"),
  })),
  "unknown-update": bare("unknown-update", "sends an update of a kind that nobody knows"),

  /** With `tool=` the ask names an open call, and says no more. */
  ask: entry(
    "ask [kind=execute title= path= command= options=allow_once,yes:allow_always tool=ID]",
    "asks for permission, and says how it ended; tool= names an open call and no more",
    (from) => {
      const options = from.options(["kind", "title", "path", "command", "options", "tool"]);
      return {
        kind: options.text("kind") ?? "execute",
        title: options.text("title"),
        options: options.list("options") ?? ["allow_once", "allow_always", "reject_once"],
        tool: options.text("tool"),
        path: options.text("path"),
        command: options.text("command"),
      };
    },
  ),
  question: entry(
    "question [field=NAME] TEXT",
    "asks the user, by a form where the client has them, and says the answer",
    (from) => {
      const field = from.options(["field"]).text("field") ?? "answer";
      return { field, text: from.text("TEXT") };
    },
  ),

  read: entry(
    "read PATH [LINE [LIMIT]]",
    "reads a file through the client, and says it",
    (from) => ({
      path: readPath(from),
      line: from.optionalCount("LINE", 0xffff_ffff),
      limit: from.optionalCount("LIMIT", 0xffff_ffff),
    }),
  ),
  write: entry("write PATH TEXT", "writes a file through the client", (from) => ({
    path: readPath(from),
    text: from.text("TEXT"),
  })),
  /** With `tool=` that tool call names the terminal, as real agents do; without it none does. */
  run: entry(
    "run [tool=ID] COMMAND [ARGUMENT...]",
    "runs a command in a terminal of the client; says what came out, or has a call name it",
    (from) => {
      const tool = from.options(["tool"]).text("tool");
      return { tool, command: from.word("COMMAND"), args: from.words() };
    },
  ),
  mcp: entry(
    "mcp [times=N] [SERVER:]TOOL [JSON]",
    "calls a tool of an MCP server of the session, N times at once; says what it answers",
    (from) => {
      const times = from.options(["times"]).count("times") || 1;
      const tool = from.word("TOOL");
      return {
        tool,
        input: from.optionalJson("JSON"),
        times: Math.min(times, limits.MCP_CALLS_MAX),
      };
    },
  ),
  "mcp-tools": bare("mcp-tools", "says which tools the MCP servers of the session have"),
  "mcp-env": bare("mcp-env", "says which variables they are started with"),
  call: entry(
    "call METHOD [JSON]",
    "sends any request to the client, and says its answer",
    (from) => ({ method: from.word("METHOD"), params: from.optionalJson("JSON") }),
  ),
  notify: entry("notify METHOD [JSON]", "sends any notification to the client", (from) => ({
    method: from.word("METHOD"),
    params: from.optionalJson("JSON"),
  })),

  sleep: entry("sleep MS", "waits", (from) => ({ ms: from.count("MS", limits.WAIT_MS_MAX) })),
  hang: bare("hang", "never goes on; a cancel still ends it"),
  "ignore-cancel": bare("ignore-cancel", "from here on the turn takes no notice of a cancel"),
  refuse: bare("refuse", "ends the turn with `refusal`, and forgets it"),
  stop: entry("stop REASON", "ends the turn with this stop reason, such as max_tokens", (from) => ({
    stopReason: from.word("REASON"),
  })),
  fail: entry("fail CODE MESSAGE", "answers the prompt with a JSON-RPC error", (from) => ({
    code: from.integer("CODE"),
    message: from.text("MESSAGE"),
  })),
  twice: bare("twice", "will answer this prompt twice"),

  crash: entry("crash [CODE]", "exits at once, with 1 or CODE", (from) => ({
    code: from.optionalCount("CODE", 255) ?? 1,
  })),
  signal: entry("signal NAME", "kills itself by this signal", (from) => ({
    name: from.choice("NAME", Object.keys(constants.signals)),
  })),
  garbage: entry("garbage N", "writes N lines that are no messages", (from) => ({
    count: from.count("N", limits.REPEAT_MAX),
  })),
  longline: entry("longline BYTES", "says one chunk whose line is BYTES long", (from) => ({
    bytes: from.count("BYTES", limits.LONG_LINE_BYTES_MAX),
  })),
  flood: entry("flood BYTES", "writes BYTES bytes without a newline, and then one", (from) => ({
    bytes: from.count("BYTES", limits.FLOOD_BYTES_MAX),
  })),
  deep: entry("deep N", "sends an update that is nested N deep", (from) => ({
    levels: from.count("N", limits.REPEAT_MAX),
  })),
  stray: bare(
    "stray",
    "sends an update of a session that does not exist, and an answer to nothing",
  ),
  stderr: entry("stderr TEXT", "writes a line to its error output", (from) => ({
    text: from.text("TEXT"),
  })),
  "fork-child": entry(
    "fork-child [detached] [holds-output]",
    "starts a process of its own that sleeps, and says its id",
    (from) => {
      const words = from.words();
      const strange = words.find((word) => word !== "detached" && word !== "holds-output");
      if (strange !== undefined) from.refuse(`it knows no ${strange}`);
      return {
        isDetached: words.includes("detached"),
        holdsOutput: words.includes("holds-output"),
      };
    },
  ),
} as const;

export type Verb = keyof typeof LANGUAGE;

/** The arguments of each directive. */
export type Arguments = { readonly [V in Verb]: ReturnType<(typeof LANGUAGE)[V]["read"]> };

/** One line of a script, read. */
export type Directive<V extends Verb = Verb> = {
  readonly [K in V]: { readonly verb: K; readonly args: Arguments[K] };
}[V];

/** ACP knows absolute paths only; and "write a poem" should not make a file called "a". */
function readPath(from: ArgumentReader): string {
  const path = from.word(PATH);
  if (!/^(?:\/|\.{1,2}\/)/.test(path)) from.refuse(`it wants ${PATH}`);
  return path;
}

const PATH = "PATH, which begins with / or ./";

export type Script =
  /** No script: echo says the text back. */
  | { readonly kind: "plain" }
  | { readonly kind: "directives"; readonly directives: readonly Directive[] }
  /** A script with an error: echo does none of it, and says the sentence. */
  | { readonly kind: "fault"; readonly sentence: string };

/**
 * A text whose first line begins with a directive is a script, one directive a line; empty lines
 * and those that begin with # are skipped. Every other text is plain.
 */
export function readScript(text: string): Script {
  const lines = text.split(/\r?\n/);
  if (verbOf(lines[0] ?? "") === null) return { kind: "plain" };
  const directives: Directive[] = [];
  for (const [index, line] of lines.entries()) {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#")) continue;
    const read = readDirective(trimmed);
    if (typeof read === "string") return faultAt(index, read);
    if (directives.length === limits.SCRIPT_DIRECTIVES_MAX) {
      return faultAt(index, `a script has at most ${limits.SCRIPT_DIRECTIVES_MAX} directives`);
    }
    directives.push(read);
  }
  return { kind: "directives", directives };
}

function faultAt(index: number, why: string): Script {
  return { kind: "fault", sentence: `line ${index + 1} of the script: ${why}` };
}

/** The directive, or a sentence that says what is wrong with the line. */
function readDirective(line: string): Directive | string {
  const verb = verbOf(line);
  if (verb === null) return `${JSON.stringify(firstWord(line))} is no directive; try: help`;
  const from = new ArgumentReader(line.slice(verb.length));
  const directive = readAs(verb, from);
  from.end();
  if (from.fault === null) return directive;
  return `${from.fault}; it is written: ${LANGUAGE[verb].usage}`;
}

/** A function of its own, so that the verb and its arguments stay together for the compiler. */
function readAs<V extends Verb>(verb: V, from: ArgumentReader): Directive<V> {
  return { verb, args: LANGUAGE[verb].read(from) } as Directive<V>;
}

function verbOf(line: string): Verb | null {
  const word = firstWord(line);
  return isVerb(word) ? word : null;
}

function isVerb(word: string): word is Verb {
  return Object.hasOwn(LANGUAGE, word);
}

function firstWord(line: string): string {
  return /^\S*/.exec(line)?.[0] ?? "";
}

import { constants } from "node:os";
import type { JsonObject } from "../../../core/json.ts";
import type { ArgumentReader } from "./argument-reader.ts";
import * as limits from "./limits.ts";

/** What each directive has to be told. A verb that is added here is missing everywhere else. */
export interface Arguments {
  say: { readonly text: string };
  think: { readonly text: string };
  chunks: { readonly count: number; readonly bytes: number };
  message: { readonly id: string | null };
  help: Nothing;
  recall: Nothing;
  whoami: Nothing;
  env: { readonly names: readonly string[] };

  tool: ToolArguments;
  plan: { readonly entries: readonly string[] };
  usage: UsageArguments;
  title: { readonly text: string | null };
  commands: { readonly names: readonly string[] };
  mode: { readonly modeId: string };
  config: { readonly id: string; readonly value: string };
  update: { readonly update: JsonObject };
  "unknown-update": Nothing;

  ask: AskArguments;
  question: { readonly field: string; readonly text: string };

  read: { readonly path: string; readonly line: number | null; readonly limit: number | null };
  write: { readonly path: string; readonly text: string };
  run: RunArguments;
  call: { readonly method: string; readonly params: JsonObject };
  notify: { readonly method: string; readonly params: JsonObject };

  sleep: { readonly ms: number };
  hang: Nothing;
  "ignore-cancel": Nothing;
  refuse: Nothing;
  stop: { readonly stopReason: string };
  fail: { readonly code: number; readonly message: string };
  twice: Nothing;

  crash: { readonly code: number };
  signal: { readonly name: string };
  garbage: { readonly count: number };
  longline: { readonly bytes: number };
  flood: { readonly bytes: number };
  deep: { readonly levels: number };
  stray: Nothing;
  stderr: { readonly text: string };
  "fork-child": { readonly isDetached: boolean; readonly holdsOutput: boolean };
}

export interface ToolArguments {
  readonly id: string | null;
  readonly kind: string | null;
  readonly title: string | null;
  /** `open` leaves the call at work; every other word is sent as it is. */
  readonly status: string;
  readonly path: string | null;
  readonly command: string | null;
  readonly text: string | null;
}

export interface AskArguments {
  readonly kind: string;
  readonly title: string | null;
  readonly options: readonly string[];
  /** A call that is open already: the ask then names it, and says no more. */
  readonly tool: string | null;
  readonly path: string | null;
  readonly command: string | null;
}

interface RunArguments {
  /** The tool call that names the terminal, as agents have it; without one none does. */
  readonly tool: string | null;
  readonly command: string;
  readonly args: readonly string[];
}

export interface UsageArguments {
  readonly used: number;
  readonly size: number;
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly thought: number;
  readonly cost: number | null;
}

type Nothing = Readonly<Record<never, never>>;

export type Verb = keyof Arguments;

/** One line of a script, read. */
export type Directive<V extends Verb = Verb> = {
  readonly [K in V]: { readonly verb: K; readonly args: Arguments[K] };
}[V];

interface Entry<A> {
  readonly usage: string;
  readonly says: string;
  readonly read: (from: ArgumentReader) => A;
}

const PATH = "PATH, which begins with / or ./";
const nothing = () => ({});

/** The language: how each directive is written, what it does, and how it is read. */
export const LANGUAGE: { readonly [V in Verb]: Entry<Arguments[V]> } = {
  say: {
    usage: "say TEXT",
    says: "says TEXT in one chunk",
    read: (from) => ({ text: from.text("TEXT") }),
  },
  think: {
    usage: "think TEXT",
    says: "the same, as a thought",
    read: (from) => ({ text: from.text("TEXT") }),
  },
  chunks: {
    usage: "chunks N BYTES",
    says: "says N numbered chunks of BYTES bytes",
    read: (from) => ({
      count: from.count("N", limits.REPEAT_MAX),
      bytes: from.count("BYTES", limits.CHUNK_BYTES_MAX),
    }),
  },
  message: {
    usage: "message [ID]",
    says: "later chunks carry this messageId, or none",
    read: (from) => ({ id: from.optionalWord() }),
  },
  help: { usage: "help", says: "says this list", read: nothing },
  recall: {
    usage: "recall",
    says: "says how many turns it remembers, the last of them, and what came before this prompt",
    read: nothing,
  },
  whoami: {
    usage: "whoami",
    says: "says its folder, sessions, flags, model, mode and MCP servers",
    read: nothing,
  },
  env: {
    usage: "env NAME...",
    says: "says what these environment variables are",
    read: (from) => ({ names: [from.word("NAME"), ...from.words()] }),
  },

  tool: {
    usage: "tool [ID] [kind= title= path= command= text= status=completed|failed|open]",
    says: "makes a tool call, or goes on with an open one; any other status is sent as it is",
    read: (from) => {
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
  },
  plan: {
    usage: "plan A|B|C",
    says: "sends a plan; the first entry is in progress",
    read: (from) => ({ entries: from.text("A|B|C").split("|") }),
  },
  usage: {
    usage: "usage USED SIZE [input= output= cached= thought= cost=]",
    says: "tells how full the context is, and counts tokens for the turn's answer",
    read: (from) => {
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
  },
  title: {
    usage: "title [TEXT]",
    says: "names the session, or takes its name away",
    read: (from) => ({ text: from.optionalText() }),
  },
  commands: {
    usage: "commands A,B",
    says: "offers slash commands",
    read: (from) => ({ names: from.text("A,B").split(",") }),
  },
  mode: {
    usage: "mode ID",
    says: "changes the session's mode by itself",
    read: (from) => ({ modeId: from.word("ID") }),
  },
  config: {
    usage: "config ID VALUE",
    says: "changes a configuration option by itself",
    read: (from) => ({ id: from.word("ID"), value: from.word("VALUE") }),
  },
  update: {
    usage: "update JSON",
    says: "sends any session update, whatever is in it",
    read: (from) => ({ update: from.json("JSON") }),
  },
  "unknown-update": {
    usage: "unknown-update",
    says: "sends an update of a kind that nobody knows",
    read: nothing,
  },

  ask: {
    usage: "ask [kind=execute title= path= command= options=allow_once,yes:allow_always tool=ID]",
    says: "asks for permission, and says how it ended; tool= names an open call and no more",
    read: (from) => {
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
  },
  question: {
    usage: "question [field=NAME] TEXT",
    says: "asks the user, by a form where the client has them, and says the answer",
    read: (from) => {
      const field = from.options(["field"]).text("field") ?? "answer";
      return { field, text: from.text("TEXT") };
    },
  },

  read: {
    usage: "read PATH [LINE [LIMIT]]",
    says: "reads a file through the client, and says it",
    read: (from) => ({
      path: readPath(from),
      line: from.optionalCount("LINE", 0xffff_ffff),
      limit: from.optionalCount("LIMIT", 0xffff_ffff),
    }),
  },
  write: {
    usage: "write PATH TEXT",
    says: "writes a file through the client",
    read: (from) => ({ path: readPath(from), text: from.text("TEXT") }),
  },
  run: {
    usage: "run [tool=ID] COMMAND [ARGUMENT...]",
    says: "runs a command in a terminal of the client; says what came out, or has a call name it",
    read: (from) => {
      const tool = from.options(["tool"]).text("tool");
      return { tool, command: from.word("COMMAND"), args: from.words() };
    },
  },
  call: {
    usage: "call METHOD [JSON]",
    says: "sends any request to the client, and says its answer",
    read: (from) => ({ method: from.word("METHOD"), params: from.optionalJson("JSON") }),
  },
  notify: {
    usage: "notify METHOD [JSON]",
    says: "sends any notification to the client",
    read: (from) => ({ method: from.word("METHOD"), params: from.optionalJson("JSON") }),
  },

  sleep: {
    usage: "sleep MS",
    says: "waits",
    read: (from) => ({ ms: from.count("MS", limits.WAIT_MS_MAX) }),
  },
  hang: { usage: "hang", says: "never goes on; a cancel still ends it", read: nothing },
  "ignore-cancel": {
    usage: "ignore-cancel",
    says: "from here on the turn takes no notice of a cancel",
    read: nothing,
  },
  refuse: { usage: "refuse", says: "ends the turn with `refusal`, and forgets it", read: nothing },
  stop: {
    usage: "stop REASON",
    says: "ends the turn with this stop reason, such as max_tokens",
    read: (from) => ({ stopReason: from.word("REASON") }),
  },
  fail: {
    usage: "fail CODE MESSAGE",
    says: "answers the prompt with a JSON-RPC error",
    read: (from) => ({ code: from.integer("CODE"), message: from.text("MESSAGE") }),
  },
  twice: { usage: "twice", says: "will answer this prompt twice", read: nothing },

  crash: {
    usage: "crash [CODE]",
    says: "exits at once, with 1 or CODE",
    read: (from) => ({ code: from.optionalCount("CODE", 255) ?? 1 }),
  },
  signal: {
    usage: "signal NAME",
    says: "kills itself by this signal",
    read: (from) => ({ name: from.choice("NAME", Object.keys(constants.signals)) }),
  },
  garbage: {
    usage: "garbage N",
    says: "writes N lines that are no messages",
    read: (from) => ({ count: from.count("N", limits.REPEAT_MAX) }),
  },
  longline: {
    usage: "longline BYTES",
    says: "says one chunk whose line is BYTES long",
    read: (from) => ({ bytes: from.count("BYTES", limits.LONG_LINE_BYTES_MAX) }),
  },
  flood: {
    usage: "flood BYTES",
    says: "writes BYTES bytes without a newline, and then one",
    read: (from) => ({ bytes: from.count("BYTES", limits.FLOOD_BYTES_MAX) }),
  },
  deep: {
    usage: "deep N",
    says: "sends an update that is nested N deep",
    read: (from) => ({ levels: from.count("N", limits.REPEAT_MAX) }),
  },
  stray: {
    usage: "stray",
    says: "sends an update of a session that does not exist, and an answer to nothing",
    read: nothing,
  },
  stderr: {
    usage: "stderr TEXT",
    says: "writes a line to its error output",
    read: (from) => ({ text: from.text("TEXT") }),
  },
  "fork-child": {
    usage: "fork-child [detached] [holds-output]",
    says: "starts a process of its own that sleeps, and says its id",
    read: (from) => {
      const words = from.words();
      const strange = words.find((word) => word !== "detached" && word !== "holds-output");
      if (strange !== undefined) from.refuse(`it knows no ${strange}`);
      return {
        isDetached: words.includes("detached"),
        holdsOutput: words.includes("holds-output"),
      };
    },
  },
};

/** ACP knows absolute paths only; and "write a poem" should not make a file called "a". */
function readPath(from: ArgumentReader): string {
  const path = from.word(PATH);
  if (!/^(?:\/|\.{1,2}\/)/.test(path)) from.refuse(`it wants ${PATH}`);
  return path;
}

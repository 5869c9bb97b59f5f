import { setTimeout as pause } from "node:timers/promises";
import { COMPLETION_MS_MAX, COMPLETIONS_MAX } from "../core/limits.ts";
import { oneOf } from "./command-line.ts";
import { shortId } from "./commands/session/choose.ts";
import { readContexts } from "./connect/contexts.ts";
import { findServer } from "./connect/find-server.ts";
import { clientOf, guarded } from "./connect/on-server.ts";
import { CommandFailure } from "./failure.ts";
import { agentProfiles, homeOf } from "./home.ts";
import { EXIT } from "./table/exit-codes.ts";
import type { CommandRow, Completion, OptionRow } from "./table/row.ts";
import { HELP_OPTION } from "./table/row.ts";
import { COMPLETION } from "./table/servers.ts";
import { commandWords, rowOf } from "./table/table.ts";

/** Each asks the command itself; without an answer the shell offers files. */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_fermata() {
  local IFS=$'\\n'
  COMPREPLY=($(fermata __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _fermata fermata
`,
  zsh: `#compdef fermata
_fermata() {
  local -a found
  found=("\${(@f)$(fermata __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[1]}" ]]; then compadd -- "\${found[@]}"; else _files; fi
}
compdef _fermata fermata
`,
  fish: `function __fermata_complete
  fermata __complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null
end
complete -c fermata -a '(__fermata_complete)'
`,
};

/** Prints what makes a shell complete the words of the command. */
export function completion(args: readonly string[]): Promise<number> {
  return guarded(COMPLETION, args, async (_, [shell = "", extra]) => {
    const script =
      Object.hasOwn(SCRIPTS, shell) && extra === undefined ? SCRIPTS[shell] : undefined;
    if (script === undefined) {
      throw new CommandFailure(EXIT.usage, `expected ${oneOf(shell, Object.keys(SCRIPTS))}`);
    }
    process.stdout.write(script);
    return EXIT.done;
  });
}

/** Prints what the last of the words can become, a line each. It never fails, and never waits. */
export async function complete(words: readonly string[]): Promise<number> {
  const typed = words.at(-1) ?? "";
  const all = await candidates(words).catch(() => []);
  const found = all.filter((word) => word.startsWith(typed)).slice(0, COMPLETIONS_MAX);
  process.stdout.write([...new Set(found)].map((word) => `${word}\n`).join(""));
  return EXIT.done;
}

async function candidates(words: readonly string[]): Promise<readonly string[]> {
  const [name = "", ...rest] = words;
  if (rest.length === 0) return [...commandWords(), "help"];
  if (name === "help") return commandWords();
  const row = rowOf(name);
  if (row === null) return [];
  const options = await optionsOf(row);
  const typed = rest.at(-1) ?? "";
  const asked =
    options[(rest.at(-2) ?? "").replace(/^--/, "")] ?? shortOption(options, rest.at(-2));
  if (asked?.type === "string") return valuesOf(asked.completes);
  if (typed.startsWith("-")) return Object.keys(options).map((option) => `--${option}`);
  const at = rest.slice(0, -1).filter((word) => !word.startsWith("-")).length;
  const { completes = [] } = row;
  return valuesOf(completes[Math.min(at, completes.length - 1)]);
}

function shortOption(options: Readonly<Record<string, OptionRow>>, word = "") {
  return Object.values(options).find(({ short }) => short !== undefined && word === `-${short}`);
}

async function optionsOf(row: CommandRow): Promise<Readonly<Record<string, OptionRow>>> {
  const own = { ...row.options, ...HELP_OPTION };
  if (row.moreOptions !== "serve") return own;
  const { OPTIONS } = await import("./serve/options.ts");
  const server = Object.entries(OPTIONS).map(([name, { placeholder, help }]) => {
    const type = placeholder === null ? "boolean" : "string";
    return [name, { type, value: placeholder ?? "", help }] as const;
  });
  return { ...Object.fromEntries(server), ...own };
}

async function valuesOf(kind: Completion | undefined): Promise<readonly string[]> {
  if (kind === undefined || kind === "file" || kind === "folder") return [];
  const home = homeOf(process.env);
  if (kind === "agent") {
    const profiles = await agentProfiles(home);
    return profiles.ok ? [...profiles.value.keys()] : [];
  }
  if (kind === "context") {
    const { all } = await readContexts(home);
    return ["local", ...all.map(({ name }) => name)];
  }
  return kind === "session" || kind === "ask" ? inTime(namesOf(kind)) : kind;
}

/** A person waits for the shell meanwhile. */
function inTime(names: Promise<readonly string[]>): Promise<readonly string[]> {
  return Promise.race([names, pause(COMPLETION_MS_MAX, [], { ref: false })]);
}

async function namesOf(kind: "session" | "ask"): Promise<readonly string[]> {
  const server = await findServer({}, process.env);
  if (server === null) return [];
  const client = clientOf(server, 0);
  const signal = AbortSignal.timeout(COMPLETION_MS_MAX);
  const names: string[] = [];
  if (kind === "ask") {
    for await (const { requestId } of client.asks.list({ signal })) names.push(shortId(requestId));
  }
  for await (const row of client.sessions.list({ size: COMPLETIONS_MAX, signal })) {
    names.push(row.name ?? shortId(row.sessionId));
    if (names.length >= COMPLETIONS_MAX) break;
  }
  return names;
}

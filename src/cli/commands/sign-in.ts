import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { Fermata, FermataError } from "../../client/index.ts";
import { stringAt } from "../../core/json.ts";
import { CONNECT_PATIENCE_MS } from "../../core/limits.ts";
import {
  type Context,
  contextNamed,
  LOCAL_CONTEXT,
  readContexts,
  writeContexts,
} from "../connect/contexts.ts";
import { addressOf, IN_THE_CLEAR, isInTheClear, tokenIn } from "../connect/find-server.ts";
import { eraOf, guarded } from "../connect/on-server.ts";
import { CommandFailure } from "../failure.ts";
import { homeOf } from "../home.ts";
import { tableText, version } from "../output.ts";
import { EXIT } from "../table/exit-codes.ts";
import { CONTEXT, LOGIN } from "../table/servers.ts";

/** Tries a server with a token, and uses it from now on. */
export function login(args: readonly string[]): Promise<number> {
  return guarded(LOGIN, args, async (flags, [address, extra]) => {
    if (address === undefined || extra !== undefined) throw usage("expected one URL");
    const url = addressOf(address);
    const { host } = new URL(url);
    if (isInTheClear(url) && !flags.insecure) throw usage(IN_THE_CLEAR);
    const name = flags.name ?? host;
    if (!/^[\w.:-]{1,64}$/.test(name) || name === LOCAL_CONTEXT) {
      throw usage(`"${name}" is no name: use letters, digits and . _ : -`);
    }
    const file = flags["token-file"];
    const given = file === undefined ? null : await tokenIn(file);
    const token = await acceptedToken(url, given);
    const home = homeOf(process.env);
    const { all } = await readContexts(home);
    const others = all.filter((context) => context.name !== name);
    await writeContexts(home, { current: name, all: [...others, { name, url, token }] });
    return say(`signed in to ${url}; commands use it now. Back to this machine: ${BACK}`);
  });
}

const BACK = `fermata context use ${LOCAL_CONTEXT}`;

/** The token with which the server answers; it is asked for where it is needed. */
async function acceptedToken(url: string, given: string | null): Promise<string | null> {
  try {
    await greet(url, given);
    return given;
  } catch (thrown) {
    const isUnknown = thrown instanceof FermataError && thrown.code === "unauthorized";
    if (!isUnknown || given !== null || !process.stdin.isTTY) throw thrown;
  }
  const token = (await hiddenAnswer(`Token for ${url}: `)).trim();
  await greet(url, token);
  return token;
}

async function greet(url: string, token: string | null): Promise<void> {
  const client = new Fermata({ url, token, patienceMs: CONNECT_PATIENCE_MS });
  const theirs = stringAt(await client.capabilities(), "fermataVersion") ?? "?";
  if (eraOf(theirs) === eraOf(version())) return;
  const sentence = `${url} is fermata ${theirs}, and this is ${version()}`;
  throw new CommandFailure(EXIT.version, sentence);
}

/** What is typed is not shown. */
async function hiddenAnswer(question: string): Promise<string> {
  process.stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true });
  try {
    return await lines.question("");
  } finally {
    lines.close();
    process.stderr.write("\n");
  }
}

/** Lists the contexts, chooses one, or forgets one. */
export function context(args: readonly string[]): Promise<number> {
  return guarded(CONTEXT, args, async ({ json = false }, [act, name, extra]) => {
    const home = homeOf(process.env);
    const contexts = await readContexts(home);
    const { current, all } = contexts;
    if (act === "ls" && name === undefined) return print(listText(current, all, json));
    if (name === undefined || extra !== undefined || (act !== "use" && act !== "rm")) {
      throw usage("expected ls, use NAME or rm NAME");
    }
    if (act === "use") {
      const isLocal = name === LOCAL_CONTEXT;
      const chosen = isLocal ? null : contextNamed(contexts, name).name;
      await writeContexts(home, { current: chosen, all });
      return say(isLocal ? "commands use this machine's server" : `commands use ${name}`);
    }
    contextNamed(contexts, name);
    const left = all.filter((one) => one.name !== name);
    await writeContexts(home, { current: current === name ? null : current, all: left });
    return say(`forgot ${name} and its token`);
  });
}

/** Tokens are in no list. */
function listText(current: string | null, all: readonly Context[], isJson: boolean): string {
  const rows = [{ name: LOCAL_CONTEXT, url: null }, ...all.map(({ name, url }) => ({ name, url }))];
  const used = current ?? LOCAL_CONTEXT;
  const listed = rows.map((row) => ({ ...row, used: row.name === used }));
  if (isJson) return JSON.stringify(listed, null, 2);
  const cells = listed.map((row) => [
    row.used ? "*" : "",
    row.name,
    row.url ?? "the server of this machine",
  ]);
  return tableText(["", "NAME", "URL"], cells);
}

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return EXIT.done;
}

function say(sentence: string): number {
  console.error(`fermata: ${sentence}`);
  return EXIT.done;
}

function usage(reason: string): CommandFailure {
  return new CommandFailure(EXIT.usage, reason);
}

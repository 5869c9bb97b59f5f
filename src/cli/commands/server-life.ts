import { resolve } from "node:path";
import { errorBody } from "../../core/error.ts";
import type { JsonObject } from "../../core/json.ts";
import { CONNECT_PATIENCE_MS } from "../../core/limits.ts";
import { checkProved, startInBackground, stopServerProcess } from "../connect/background.ts";
import { type FoundServer, findServer, localServer } from "../connect/find-server.ts";
import { clientOf, guarded } from "../connect/on-server.ts";
import { type RunningRecord, runningServers } from "../connect/run-file.ts";
import { CommandFailure } from "../failure.ts";
import { homeOf } from "../home.ts";
import { readServeOptions } from "../serve/read-options.ts";
import { asksByOption } from "../serve/settings.ts";
import { dataFolder } from "../serve/store.ts";
import { EXIT } from "../table/exit-codes.ts";
import { RESTART, STATUS, STOP } from "../table/servers.ts";

/** Stops the server of this machine. */
export function stop(args: readonly string[]): Promise<number> {
  return guarded(STOP, args, async ({ all = false }) => {
    const running = all ? await runningServers(homeOf(process.env)) : await onlyServer();
    if (running.length === 0) return say("no server runs here");
    for (const record of running) {
      await stopServerProcess(record, say);
      say(`stopped the server at ${record.url} (pid ${record.process.pid})`);
    }
    return EXIT.done;
  });
}

/** Stops it, and starts it again with the same options. */
export function restart(args: readonly string[]): Promise<number> {
  return guarded(RESTART, args, async () => {
    const [record] = await onlyServer();
    if (record === undefined) {
      throw new CommandFailure(
        EXIT.unreachable,
        "no server runs here. Start one: fermata serve -d",
      );
    }
    if (record.args === null) {
      const how = "stop it, and start it with --token-file";
      throw new CommandFailure(EXIT.failed, `its --token is not kept; ${how}`);
    }
    checkProved(record.process);
    // Relative paths in its options mean what they meant to it.
    process.chdir(record.cwd);
    await checkSameStart(record, record.args, process.env);
    await stopServerProcess(record, say);
    const { url, pid, log } = await startInBackground(record.args, process.env, record.cwd);
    return say(`the server listens on ${url} again (pid ${pid}, log ${log})`);
  });
}

/** Refuses to start it as another server than it was: it might let in callers that it refused. */
async function checkSameStart(
  { variables, token, asksByOption: didAsk, data }: RunningRecord,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const left = "it is left as it is";
  const missing = variables.filter((name) => !env[name]?.trim());
  if (missing.length > 0) {
    const names = missing.join(", ");
    const how = `set ${missing.map((name) => `${name}=…`).join(" ")} and try again`;
    throw refused(`its options came from ${names}, not set here, so ${left}; ${how}`);
  }
  const options = await readServeOptions(args, env);
  if (!options.ok) throw refused(`${errorBody(options.refusal).error}; ${left}`);
  if (token !== null && didAsk && !asksByOption(options.value)) {
    const how = "set FERMATA_TOKEN, or token-file in config.json, and try again";
    throw refused(`it asks for a token, and would not after a restart, so ${left}; ${how}`);
  }
  const next = resolve(dataFolder(options.value, env));
  if (next === data) return;
  const how = `set FERMATA_DATA=${data} and try again`;
  throw refused(`its data is in ${data}, and would be in ${next}, so ${left}; ${how}`);
}

function refused(sentence: string): CommandFailure {
  return new CommandFailure(EXIT.failed, sentence);
}

/** Says which server commands use, and how it is. */
export function status(args: readonly string[]): Promise<number> {
  return guarded(STATUS, args, async (flags) => {
    const server = await findServer(flags, process.env);
    if (server === null) {
      const how = "Start one: fermata serve -d";
      throw new CommandFailure(EXIT.unreachable, `no server runs here. ${how}`);
    }
    const facts = { ...factsOf(server), ...(await healthOf(server)) };
    process.stdout.write(flags.json ? `${JSON.stringify(facts, null, 2)}\n` : linesOf(facts));
    return EXIT.done;
  });
}

function factsOf({ url, by, running }: FoundServer): JsonObject {
  if (running === null) return { url, by };
  const { process: identity, version, data, agent, log, startedAtMs } = running;
  const startedAt = new Date(startedAtMs).toISOString();
  return { url, by, version, pid: identity.pid, startedAt, data, agent, log };
}

/** What it says itself; this is also how a wrong token is found out. */
async function healthOf(server: FoundServer): Promise<JsonObject> {
  const client = clientOf(server, CONNECT_PATIENCE_MS);
  const { fermataVersion, workspaceCwd } = await client.capabilities();
  let asks = 0;
  for await (const _ of client.asks.list()) asks += 1;
  let sessions = 0;
  for await (const _ of client.sessions.list({ closed: false })) sessions += 1;
  return { version: fermataVersion ?? null, workspace: workspaceCwd ?? null, sessions, asks };
}

function linesOf(facts: JsonObject): string {
  const known = Object.entries(facts).filter(([, value]) => value !== null);
  const width = Math.max(...known.map(([name]) => name.length));
  return known.map(([name, value]) => `${name.padEnd(width)}  ${value}\n`).join("");
}

/** None, or the one that commands would use. */
async function onlyServer(): Promise<readonly RunningRecord[]> {
  const found = await localServer(process.env);
  return found === null ? [] : [found];
}

function say(sentence: string): number {
  console.error(`fermata: ${sentence}`);
  return EXIT.done;
}

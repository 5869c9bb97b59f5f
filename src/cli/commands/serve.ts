import { errorBody, type Refusal } from "../../core/error.ts";
import { SHUTDOWN_DRAIN_MS, START_STOP_MS_MAX } from "../../core/limits.ts";
import type { Result } from "../../core/result.ts";
import { SecretGuard } from "../../store/index.ts";
import { version } from "../output.ts";
import { openAgentUsers } from "../serve/agent-user.ts";
import { agentNote, readAgentProfiles } from "../serve/agents.ts";
import type { RunningServer } from "../serve/assemble.ts";
import { openSecrets, prepareHomes } from "../serve/credentials.ts";
import { drainTeller, lastWords } from "../serve/farewell.ts";
import { serveHelp } from "../serve/help.ts";
import { mayHaveTokens, readJwtAuthenticator } from "../serve/identity.ts";
import { openLog } from "../serve/log.ts";
import { readPriceFile } from "../serve/meter.ts";
import type { ServeOptions } from "../serve/options.ts";
import { withPortOwner } from "../serve/port-owner.ts";
import { mistypedVariables, readServeOptions } from "../serve/read-options.ts";
import {
  checkWorkspaces,
  openWeb,
  ownFolders,
  serverSettings,
  writeRoots,
} from "../serve/settings.ts";
import { listenForSignals, STOPPED_EXIT_CODE } from "../serve/signals.ts";
import { dataFolder, locatorOf, openStore, placeOf } from "../serve/store.ts";
import { readMcpConfig } from "../serve/tools.ts";

export async function serve(args: readonly string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(serveHelp());
    return 0;
  }
  if (args.includes("--version") || args.includes("-V")) {
    process.stdout.write(`${version()}\n`);
    return 0;
  }
  for (const [name, meant] of mistypedVariables(process.env)) {
    console.error(
      `fermata: ${name} is no variable of Fermata, and does nothing (did you mean ${meant}?)`,
    );
  }
  const options = await readServeOptions(args, process.env);
  if (!options.ok) return printFailure(options.refusal, 2);
  const signals = listenForSignals();
  // The program that reads the first line may close the output; the server goes on. So may the
  // terminal: then each line of the log fails to be written.
  process.stdout.removeAllListeners("error").on("error", () => {});
  process.stderr.on("error", () => {});
  const starting = startServer(options.value, process.env, version());
  const started = await Promise.race([starting, signals.first]);
  if (started === undefined) return stopStarting(starting, signals.hurry);
  if (!started.ok) {
    const refusal = await withPortOwner(started.refusal);
    return printFailure(refusal, refusal.code === "invalid_server_config" ? 2 : 1);
  }
  const { url, defaultAgent, note } = started.value;
  process.stdout.write(`fermata ${version()} listening on ${url} (agent: ${defaultAgent})\n`);
  if (note !== null) process.stdout.write(`${note}\n`);
  const aboutAgent = await agentNote(options.value, process.env);
  if (aboutAgent !== null) process.stdout.write(`${aboutAgent}\n`);
  await signals.first;
  await stopServer(started.value, options.value, signals.hurry);
  return 0;
}

/** Ends a server in order, and says meanwhile what it waits for and then what is left of it. */
async function stopServer(
  server: RunningServer,
  options: ServeOptions,
  hurry: AbortSignal,
): Promise<void> {
  const say = (sentence: string) => process.stdout.write(`fermata: ${sentence}\n`);
  const drainMs = options["drain-ms"] ?? SHUTDOWN_DRAIN_MS;
  const stopped = await server.stop(hurry, drainTeller(drainMs, say));
  lastWords(stopped, placeOf(options, dataFolder(options, process.env))).forEach(say);
}

/**
 * A signal has come before the server was up. A start that ends soon is undone in good order; one
 * that hangs, as on a disk that does not answer, ends with the process, which has served nothing.
 */
async function stopStarting(
  starting: ReturnType<typeof startServer>,
  hurry: AbortSignal,
): Promise<number> {
  console.error("fermata: stopped before the server was up");
  // An orderly exit would wait for the call that hangs.
  const endNow = () => process.kill(process.pid, "SIGKILL");
  const hung = setTimeout(endNow, START_STOP_MS_MAX);
  hurry.addEventListener("abort", endNow);
  const started = await starting;
  if (started.ok) await started.value.stop(AbortSignal.abort(), () => {});
  hurry.removeEventListener("abort", endNow);
  clearTimeout(hung);
  return STOPPED_EXIT_CODE;
}

function printFailure(refusal: Refusal, exitCode: number): number {
  console.error(`fermata: ${errorBody(refusal).error}`);
  if (exitCode === 2) console.error('fermata: "fermata serve --help" lists all options.');
  return exitCode;
}

/**
 * Starts a server: store, agents, sessions and network. It refuses bad options before it touches
 * anything. The threads of the store start while the rest of the program is being loaded.
 */
export async function startServer(
  options: ServeOptions,
  env: NodeJS.ProcessEnv,
  version: string,
): Promise<Result<RunningServer>> {
  const folder = dataFolder(options, env);
  const jwt = await readJwtAuthenticator(options);
  if (!jwt.ok) return jwt;
  const mayKnowCallers = jwt.value !== null || mayHaveTokens(options, folder);
  const settings = await serverSettings(options, mayKnowCallers);
  if (!settings.ok) return settings;
  const client = await openWeb(options, await ownFolders(options, folder, env));
  if (!client.ok) return client;
  const { own } = client.value;
  const fault = await checkWorkspaces(settings.value, own);
  if (fault !== null) return fault;
  const roots = await writeRoots(options, own);
  if (!roots.ok) return roots;
  const agents = await readAgentProfiles(options);
  if (!agents.ok) return agents;
  const mcp = await readMcpConfig(options, env);
  if (!mcp.ok) return mcp;
  const prices = await readPriceFile(options.prices, agents.value.profiles);
  if (!prices.ok) return prices;
  const homes = await prepareHomes(options);
  if (!homes.ok) return homes;
  const guard = new SecretGuard();
  const { token, workspaces } = settings.value;
  if (token !== null) guard.know(token);
  const log = openLog(options["log-level"], guard);
  const { profiles } = agents.value;
  const opened = await openAgentUsers({ options, profiles, folder, workspaces, env, log });
  if (!opened.ok) return opened;
  const { users } = opened.value;
  const secrets = await openSecrets(options, opened.value.profiles, env, guard, log);
  if (!secrets.ok) {
    await users.close();
    return secrets;
  }
  const opening = openStore(options, folder, guard, log, env);
  const [store, { assemble }] = await Promise.all([opening, import("../serve/assemble.ts")]);
  if (!store.ok) {
    await Promise.all([users.close(), secrets.value.end()]);
    return store;
  }
  const parts = {
    options,
    ...agents.value,
    ...opened.value,
    mcp: mcp.value,
    jwt: jwt.value,
    prices: prices.value,
    folder,
    ...client.value,
    roots: roots.value,
    guard,
    secrets: secrets.value,
    log,
    version,
  };
  return assemble({ ...parts, store: store.value, located: locatorOf(options, folder) });
}

import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { errorBody, type Refusal } from "../../core/error.ts";
import { ok, type Result } from "../../core/result.ts";
import { SecretGuard } from "../../store/index.ts";
import { startInBackground, takeBackgroundStart } from "../connect/background.ts";
import { RunFile } from "../connect/run-file.ts";
import { homeOf, messageOf } from "../home.ts";
import { version } from "../output.ts";
import { listenEarly } from "../serve/address.ts";
import { openAgentUsers } from "../serve/agent-user.ts";
import type { RunningServer } from "../serve/assemble.ts";
import { openSecrets, prepareHomes } from "../serve/credentials.ts";
import { claimData, type DataClaim, NOTHING_CLAIMED } from "../serve/data-claim.ts";
import { checkExtensions, codeFolders, readExtensions } from "../serve/extensions.ts";
import { openLog } from "../serve/log.ts";
import { readJwtAuthenticator, readMcpConfig, readPriceFile } from "../serve/operator-files.ts";
import type { ServeOptions } from "../serve/options.ts";
import { withPortOwner } from "../serve/port-owner.ts";
import { agentNote, readAgentProfiles } from "../serve/profiles.ts";
import { mistypedVariables, readServeOptions, variablesUsed } from "../serve/read-options.ts";
import {
  asksByOption,
  checkWorkspaces,
  openWeb,
  ownFolders,
  serverSettings,
  workspacesOf,
  writeRoots,
} from "../serve/settings.ts";
import { listenForSignals, stopServer, stopStarting } from "../serve/stop.ts";
import {
  dataFolder,
  isLasting,
  keptIn,
  locatorOf,
  mayHaveTokens,
  openStore,
} from "../serve/store.ts";
import { chooseWorkspace } from "../serve/workspace.ts";

export async function serve(args: readonly string[]): Promise<number> {
  if (args.includes("--version") || args.includes("-V")) {
    process.stdout.write(`${version()}\n`);
    return 0;
  }
  for (const [name, meant] of mistypedVariables(process.env)) {
    console.error(
      `fermata: ${name} is no variable of Fermata, and does nothing (did you mean ${meant}?)`,
    );
  }
  const background = takeBackgroundStart(process.env);
  const inFront = args.filter((word) => !DETACH.has(word));
  const options = await readServeOptions(inFront, process.env);
  if (!options.ok) return printFailure(options.refusal, 2);
  if (inFront.length < args.length) return serveDetached(inFront);
  const signals = listenForSignals();
  // The program that reads the first line may close the output; the server goes on. So may the
  // terminal: then each line of the log fails to be written.
  process.stdout.removeAllListeners("error").on("error", () => {});
  process.stderr.on("error", () => {});
  const localToken = `${LOCAL_TOKEN_BEGINNING}${randomBytes(32).toString("hex")}`;
  const starting = startServer(options.value, process.env, version(), localToken);
  const started = await Promise.race([starting, signals.first]);
  if (started === undefined) return stopStarting(starting, signals.hurry);
  if (!started.ok) {
    const refusal = await withPortOwner(started.refusal);
    return printFailure(refusal, refusal.code === "invalid_server_config" ? 2 : 1);
  }
  const { url, defaultAgent, notes } = started.value;
  const runFile = await announce(started.value, options.value, inFront, localToken, background.log);
  process.stdout.write(`fermata ${version()} listening on ${url} (agent: ${defaultAgent})\n`);
  for (const note of notes) process.stdout.write(`${note}\n`);
  const aboutAgent = await agentNote(options.value, process.env);
  if (aboutAgent !== null) process.stdout.write(`${aboutAgent}\n`);
  background.ready(url);
  await signals.first;
  const place = keptIn(options.value, dataFolder(options.value, process.env));
  await stopServer(started.value, options.value["drain-ms"], place, signals.hurry);
  await runFile?.remove();
  return 0;
}

/**
 * How the token of a run begins. Text that ends like a known secret begins is held for a moment: a
 * digit or a letter that is random would hold every sixteenth word of agents.
 */
const LOCAL_TOKEN_BEGINNING = "fermata-local-owner-of-one-run-";

const DETACH: ReadonlySet<string> = new Set(["-d", "--detach"]);

async function serveDetached(args: readonly string[]): Promise<number> {
  try {
    const { url, pid, log } = await startInBackground(args, process.env);
    process.stdout.write(`fermata ${version()} listening on ${url} (pid ${pid}, log ${log})\n`);
    console.error("fermata: stop it with: fermata stop");
    return 0;
  } catch (thrown) {
    console.error(`fermata: ${messageOf(thrown)}`);
    return 1;
  }
}

/** Lets the commands of this user find the server, and be its operator. */
async function announce(
  { localUrl, needsToken, defaultAgent }: RunningServer,
  options: ServeOptions,
  args: readonly string[],
  localToken: string,
  log: string | null,
): Promise<RunFile | null> {
  const record = {
    url: localUrl,
    version: version(),
    data: resolve(dataFolder(options, process.env)),
    token: needsToken ? localToken : null,
    agent: defaultAgent,
    log,
    variables: variablesUsed(args, process.env),
    asksByOption: asksByOption(options),
    args: args.some((word) => /^--token(?:=|$)/.test(word)) ? null : args,
  };
  try {
    return await RunFile.write(homeOf(process.env), record);
  } catch (thrown) {
    const reason = messageOf(thrown);
    console.error(`fermata: other commands will not find this server by themselves: ${reason}`);
    return null;
  }
}

function printFailure(refusal: Refusal, exitCode: number): number {
  console.error(`fermata: ${errorBody(refusal).error}`);
  if (exitCode === 2) console.error('fermata: "fermata serve --help" lists all options.');
  return exitCode;
}

/**
 * Starts a server: store, agents, sessions and network. It refuses bad options before it touches
 * anything.
 */
export async function startServer(
  given: ServeOptions,
  env: NodeJS.ProcessEnv,
  version: string,
  localToken: string | null = null,
): Promise<Result<RunningServer>> {
  const folder = dataFolder(given, env);
  const checked = await checkOptions(given, folder, env);
  if (!checked.ok) return checked;
  const chosen = await chooseWorkspace(given, folder);
  if (!chosen.ok) return chosen;
  const { options, note } = chosen.value;
  const aboutExtensions = await checkExtensions(checked.value.extensions, codeFolders(options));
  if (!aboutExtensions.ok) return aboutExtensions;
  const about = { ...checked.value, localToken };
  const started = await openServer(options, folder, about, env, version);
  if (!started.ok) return started;
  const notes = [...(note === null ? [] : [note]), ...aboutExtensions.value];
  return ok({ ...started.value, notes: [...notes, ...started.value.notes] });
}

type CheckedOptions = Extract<Awaited<ReturnType<typeof checkOptions>>, { ok: true }>["value"];

/** Checks the options, and reads the files that they name. */
async function checkOptions(options: ServeOptions, folder: string, env: NodeJS.ProcessEnv) {
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
  const extensions = await readExtensions(options, env);
  if (!extensions.ok) return extensions;
  const prices = await readPriceFile(options.prices, agents.value.profiles);
  if (!prices.ok) return prices;
  const homes = await prepareHomes(options);
  if (!homes.ok) return homes;
  const read = { mcp: mcp.value, jwt: jwt.value, prices: prices.value, roots: roots.value };
  const about = { agents: agents.value, settings: settings.value, extensions: extensions.value };
  return ok({ ...read, ...client.value, ...about });
}

/**
 * Opens what a server works with, and takes the data directory for it. It listens then, and the
 * store's thread starts while the rest of the program is being loaded.
 */
async function openServer(
  options: ServeOptions,
  folder: string,
  {
    settings,
    agents,
    extensions,
    ...read
  }: CheckedOptions & { readonly localToken: string | null },
  env: NodeJS.ProcessEnv,
  version: string,
): Promise<Result<RunningServer>> {
  const guard = new SecretGuard();
  if (settings.token !== null) guard.know(settings.token);
  if (read.localToken !== null) guard.know(read.localToken);
  const log = openLog(options["log-level"], guard);
  const { profiles } = agents;
  const workspaces = workspacesOf(options);
  const places = { folder, workspaces, extensions };
  const opened = await openAgentUsers({ options, profiles, ...places, env, log });
  if (!opened.ok) return opened;
  const { users } = opened.value;
  const secrets = await openSecrets(options, opened.value.profiles, env, guard, log);
  if (!secrets.ok) {
    await users.close();
    return secrets;
  }
  const claimed = await claimFor(options, folder);
  if (!claimed.ok) {
    await Promise.all([users.close(), secrets.value.end()]);
    return claimed;
  }
  const claim = claimed.value;
  const giveUp = () => Promise.all([users.close(), secrets.value.end(), claim.release()]);
  const early = await listenEarly(settings);
  if (!early.ok) {
    await giveUp();
    return early;
  }
  const opening = openStore(options, folder, guard, log, env);
  const [store, { assemble }] = await Promise.all([opening, import("../serve/assemble.ts")]);
  if (!store.ok) {
    await Promise.all([early.value?.close(), giveUp()]);
    return store;
  }
  const parts = {
    options,
    ...agents,
    ...opened.value,
    ...read,
    extensions,
    folder,
    guard,
    secrets: secrets.value,
    log,
    version,
  };
  const located = locatorOf(options, folder);
  const more = { store: store.value, located, early: early.value };
  const started = await assemble({ ...parts, ...more });
  if (!started.ok) await early.value?.close();
  return withClaim(claim, started);
}

/** A server that keeps nothing takes nothing. */
async function claimFor(options: ServeOptions, folder: string): Promise<Result<DataClaim>> {
  return isLasting(options) ? claimData(folder, options["shared-data"]) : ok(NOTHING_CLAIMED);
}

/** The server with its claim, which ends with it. */
async function withClaim(
  claim: DataClaim,
  started: Result<RunningServer>,
): Promise<Result<RunningServer>> {
  if (!started.ok) {
    await claim.release();
    return started;
  }
  const server = started.value;
  await claim.listening(server.url);
  const stop: RunningServer["stop"] = async (...how) => {
    const stopped = await server.stop(...how);
    await claim.release();
    return stopped;
  };
  return ok({ ...server, stop });
}

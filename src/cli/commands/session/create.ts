import { resolve } from "node:path";
import { FermataError, type NewSessionOptions, type SessionHandle } from "../../../client/index.ts";
import { parseSessionName } from "../../../core/session/name.ts";
import { canonical } from "../../../platform/folder.ts";
import { oneOf } from "../../command-line.ts";
import { type OnServer, runOnServer } from "../../connect/on-server.ts";
import { CommandFailure } from "../../failure.ts";
import { EXIT } from "../../table/exit-codes.ts";
import { NEW, type RUN } from "../../table/sessions.ts";
import { readCredits } from "../credits-text.ts";
import { shortId } from "./choose.ts";
import { promptText } from "./prompt-text.ts";

type Maker = Pick<OnServer<typeof NEW | typeof RUN>, "client" | "server" | "flags" | "signal">;

/** Makes a session, and prints its id. */
export function newSession(args: readonly string[]): Promise<number> {
  const act = async (on: OnServer<typeof NEW>) => {
    const { words, signal } = on;
    const [first] = words;
    const name = parseSessionName(first ?? "");
    const prompts = name === null ? words : words.slice(1);
    const text = prompts.length === 0 ? null : await promptText(prompts);
    const session = await makeSession(on, name === null ? {} : { name });
    process.stdout.write(`${session.id}\n`);
    if (text === null) return EXIT.done;
    await session.prompt(text, { signal });
    console.error(`fermata: it is at work; see: fermata logs ${shortId(session.id)} -f`);
    return EXIT.done;
  };
  return runOnServer({ row: NEW, startsServer: true, fault: settingFault, act }, args);
}

/** What is wrong with the settings of a new session. */
export function settingFault({ mode, budget }: Maker["flags"]): string | null {
  if (mode !== undefined && modeOf(mode) === null) return `--mode must be ${oneOf(mode, MODES)}`;
  if (budget !== undefined && microOf(budget) === null) return "--budget is credits, as in 2.50";
  return null;
}

/** Makes a session in the folder that was named, or in this one. */
export async function makeSession(
  on: Maker,
  settings: Pick<NewSessionOptions, "name" | "autonomy">,
): Promise<SessionHandle> {
  const { client, flags, signal } = on;
  const { agent, model, mode, budget } = flags;
  const cwd = await folderFor(on);
  const wanted: NewSessionOptions = {
    ...settings,
    ...{ sourceType: "cli", signal },
    ...(cwd !== null && { cwd }),
    ...(agent !== undefined && { agent }),
    ...(model !== undefined && { model_config: { modelId: model } }),
    ...(mode !== undefined && { mode: modeOf(mode) ?? "ask" }),
    ...(budget !== undefined && { budget: microOf(budget) }),
  };
  try {
    return await client.sessions.create(wanted);
  } catch (thrown) {
    if (cwd === null || !isUnknownFolder(thrown) || on.server.running === null) throw thrown;
    // This machine's server was started elsewhere; for its own user it works here all the same.
    await client.workspaces.add(cwd, { signal });
    const back = untrustLine(on.server, cwd);
    console.error(`fermata: the server trusts ${cwd} now: it is a workspace, and agents`);
    console.error(`fermata: may take its skills and its persona. To take the trust back${back}`);
    return client.sessions.create(wanted);
  }
}

/** What takes the trust back, for a POSIX shell. */
function untrustLine({ url, token }: Maker["server"], cwd: string): string {
  const body = JSON.stringify({ cwd, trusted: false }).replaceAll("'", "'\\''");
  const by = token === null ? ": curl" : BY_OWNER;
  return `${by} -H "content-type: application/json" -d '${body}' ${url}/workspaces`;
}

const BY_OWNER = ', with an owner\'s token in $TOKEN: curl -H "authorization: Bearer $TOKEN"';

/** Folders of another machine have to be named: this one means nothing there. */
async function folderFor({ flags, server }: Maker): Promise<string | null> {
  if (server.running !== null) return canonical(resolve(flags.dir ?? "."));
  return flags.dir ?? null;
}

function isUnknownFolder(thrown: unknown): boolean {
  return thrown instanceof FermataError && thrown.code === "workspace_mismatch";
}

const MODES = ["ask", "allowlist", "yolo"] as const;

function modeOf(word: string) {
  return MODES.find((mode) => mode === word) ?? null;
}

/** Credits on the command line are not micro-credits, as they are where credits are managed. */
function microOf(text: string): number | null {
  return readCredits(text.endsWith("cr") ? text : `${text}cr`);
}

/** The refusal of a session that is another than the one that was meant. */
export function mismatch(label: string, what: string, theirs: string, ours: string) {
  const sentence = `session ${label} ${what} ${theirs}, and this is ${ours}`;
  return new CommandFailure(EXIT.failed, sentence);
}

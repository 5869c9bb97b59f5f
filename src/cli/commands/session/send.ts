import { type OnServer, runOnServer } from "../../connect/on-server.ts";
import { CommandFailure } from "../../failure.ts";
import { EXIT } from "../../table/exit-codes.ts";
import { SEND } from "../../table/sessions.ts";
import { chosenSession, shortId } from "./choose.ts";
import { promptText } from "./prompt-text.ts";
import { codeOf } from "./run.ts";
import { jsonPrinter, openAsksOf, printTurn, textPrinter } from "./show-turn.ts";

/** Sends a prompt to a session, and shows its turn where a person looks. */
export function send(args: readonly string[]): Promise<number> {
  return runOnServer({ row: SEND, fault, act: sendPrompt }, args);
}

function fault(flags: OnServer<typeof SEND>["flags"], [session]: readonly string[]) {
  if (session === undefined) return "expected a session and a prompt";
  if (flags.wait && flags["no-wait"]) return "give --wait or --no-wait, not both";
  return null;
}

async function sendPrompt(on: OnServer<typeof SEND>): Promise<number> {
  const { flags, words, signal } = on;
  const [word = "", ...rest] = words;
  const text = await promptText(rest);
  const session = await chosenSession(on, word);
  if (flags.steer) {
    const running = (await session.queue({ signal })).find(({ state }) => state === "running");
    const isTaken =
      running !== undefined && (await session.turn(running.promptId).steer(text, { signal }));
    if (isTaken) return EXIT.done;
    throw new CommandFailure(EXIT.failed, `no turn is at work; send it without --steer`);
  }
  const { key } = flags;
  const turn = await session.prompt(text, { signal, ...(key !== undefined && { key }) });
  const waits = flags["no-wait"] ? false : (flags.wait ?? process.stdout.isTTY === true);
  if (!waits) {
    const { sessionId, promptId } = turn;
    const shown = flags.json ? JSON.stringify({ sessionId, promptId }) : promptId;
    process.stdout.write(`${shown}\n`);
    return EXIT.done;
  }
  const printer = flags.json ? jsonPrinter() : textPrinter(false);
  await printTurn(turn, printer, signal, async (part) => {
    if (openAsksOf(part).length > 0) tellHow(session.id);
    return false;
  });
  const verdict = await turn.verdict;
  if (verdict.kind === "error") console.error(`fermata: ${verdict.message} (${verdict.code})`);
  return codeOf(verdict);
}

function tellHow(sessionId: string) {
  const id = shortId(sessionId);
  console.error(`fermata: it asks; in another terminal: fermata approve ${id}, or deny ${id}`);
}

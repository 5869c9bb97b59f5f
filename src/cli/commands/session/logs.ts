import { watch as watchFile } from "node:fs";
import { open } from "node:fs/promises";
import type { ReceivedEvent } from "../../../client/index.ts";
import { chunkText } from "../../../core/agent-update.ts";
import { stringAt } from "../../../core/json.ts";
import { SERVER_LOG_BYTES_MAX } from "../../../core/limits.ts";
import { serverLog } from "../../connect/background.ts";
import { failureOf } from "../../connect/failure-of.ts";
import { localServer } from "../../connect/find-server.ts";
import { type OnServer, printFailure, runOnServer } from "../../connect/on-server.ts";
import { CommandFailure } from "../../failure.ts";
import { homeOf, isMissingFile } from "../../home.ts";
import { EXIT } from "../../table/exit-codes.ts";
import { LOGS } from "../../table/sessions.ts";
import { chosenSession } from "./choose.ts";

/** Prints what has happened in a session, or the log of the server. */
export function logs(args: readonly string[]): Promise<number> {
  if (args.includes("--server")) return serverLogs(args.some((word) => FOLLOW.has(word)));
  return runOnServer({ row: LOGS, fault, act: sessionLog }, args);
}

const FOLLOW: ReadonlySet<string> = new Set(["-f", "--follow"]);

function fault({ since }: OnServer<typeof LOGS>["flags"], { length }: readonly string[]) {
  if (length !== 1) return "expected one session, or --server";
  return since === undefined || /^\d{1,15}$/.test(since)
    ? null
    : "--since is the number of an event";
}

async function sessionLog(on: OnServer<typeof LOGS>): Promise<number> {
  const { flags, signal, words } = on;
  const session = await chosenSession(on, words[0] ?? "");
  const after = { epoch: null, id: Number(flags.since ?? 0) };
  const teller = new LogTeller();
  for await (const item of session.events({ after, signal })) {
    if (item.kind === "connection" && item.state === "live" && !flags.follow) break;
    const events = item.kind === "event" ? [item.event] : [];
    for (const event of item.kind === "resynced" ? item.events : events) {
      const text = flags.json ? `${JSON.stringify(event)}\n` : teller.tell(event);
      process.stdout.write(text);
    }
  }
  process.stdout.write(teller.end());
  return EXIT.done;
}

type LoggedEvent = Omit<ReceivedEvent, "id"> & Pick<ReceivedEvent, "type" | "data">;

/** Tells events to people: what was said is text, and all else a line of its own. */
class LogTeller {
  #isInLine = false;

  tell(event: LoggedEvent): string {
    const { type, data } = event as ReceivedEvent;
    if (type === "prompt_admitted") return this.#line(`\n> ${data.text}`);
    if (type === "permission_request") {
      return this.#line(`? ${stringAt(data.toolCall, "title") ?? "asks"}`);
    }
    if (type === "turn_error") return this.#line(`✗ ${data.message} (${data.code})`);
    if (type === "turn_complete") {
      return data.stopReason === "end_turn" ? this.end() : this.#line(`(${data.stopReason})`);
    }
    if (type !== "session_update") return "";
    const { update } = data;
    if (update.sessionUpdate === "agent_message_chunk") {
      const text = chunkText(update) ?? "";
      if (text !== "") this.#isInLine = !text.endsWith("\n");
      return text;
    }
    if (update.sessionUpdate === "tool_call") {
      return this.#line(
        `· ${stringAt(update, "kind") ?? "other"} ${stringAt(update, "title") ?? ""}`,
      );
    }
    return "";
  }

  end(): string {
    const text = this.#isInLine ? "\n" : "";
    this.#isInLine = false;
    return text;
  }

  #line(text: string): string {
    return `${this.end()}${text}\n`;
  }
}

/** What a server in the background has written. */
async function serverLogs(follows: boolean): Promise<number> {
  try {
    const running = await localServer(process.env);
    if (running !== null && running.log === null) {
      const sentence = `the server (pid ${running.process.pid}) writes to its own terminal`;
      throw new CommandFailure(EXIT.notFound, sentence);
    }
    await printLog(running?.log ?? serverLog(homeOf(process.env)), follows);
    return EXIT.done;
  } catch (thrown) {
    const sentence = "there is no log yet. Start a server: fermata serve -d";
    const failure = isMissingFile(thrown) ? new CommandFailure(EXIT.notFound, sentence) : thrown;
    return printFailure("logs", failureOf(failure));
  }
}

async function printLog(path: string, follows: boolean): Promise<void> {
  const file = await open(path, "r");
  try {
    let from = 0;
    const printMore = async () => {
      const { buffer, bytesRead } = await file.read(
        Buffer.alloc(PIECE_BYTES),
        0,
        PIECE_BYTES,
        from,
      );
      from += bytesRead;
      process.stdout.write(buffer.subarray(0, bytesRead));
      return bytesRead > 0 && from <= SERVER_LOG_BYTES_MAX * 2;
    };
    while (await printMore());
    if (!follows) return;
    await new Promise<void>((resolve) => {
      const watcher = watchFile(path, async () => {
        while (await printMore());
      });
      process.once("SIGINT", () => {
        watcher.close();
        resolve();
      });
    });
  } finally {
    await file.close();
  }
}

const PIECE_BYTES = 65_536;

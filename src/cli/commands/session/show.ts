import type { ListedSummary, SessionHandle } from "../../../client/index.ts";
import { isObject, type JsonObject } from "../../../core/json.ts";
import { type OnServer, runOnServer } from "../../connect/on-server.ts";
import { folderText, sinceText } from "../../output.ts";
import { EXIT } from "../../table/exit-codes.ts";
import { SHOW } from "../../table/sessions.ts";
import { chosenSession, shortId } from "./choose.ts";

/** Shows all there is to know of a session. */
export function show(args: readonly string[]): Promise<number> {
  const act = async (on: OnServer<typeof SHOW>) => {
    const { flags, signal, words } = on;
    const known = await knownOf(await chosenSession(on, words[0] ?? ""), signal);
    process.stdout.write(flags.json ? `${JSON.stringify(known, null, 2)}\n` : textOf(known));
    return EXIT.done;
  };
  const fault = (_: unknown, { length }: readonly string[]) =>
    length === 1 ? null : "expected one session";
  return runOnServer({ row: SHOW, fault, act }, args);
}

/** A closed session is only read: what else there is would bring it back. */
async function knownOf(session: SessionHandle, signal: AbortSignal) {
  const status = await session.status({ signal });
  if (status.closed) return { status, stats: null, approvals: null, queue: [] };
  const [stats, approvals, queue] = await Promise.all([
    session.stats({ signal }),
    session.approvals({ signal }),
    session.queue({ signal }),
  ]);
  return { status, stats, approvals, queue };
}

function textOf({ status, stats, approvals, queue }: Awaited<ReturnType<typeof knownOf>>): string {
  const row: ListedSummary = status;
  const cost = isObject(stats?.cost) ? stats.cost : {};
  const lines: readonly (readonly [string, unknown])[] = [
    ["id", row.sessionId],
    ["name", row.name],
    ["title", row.displayName],
    ["status", row.closed ? "closed" : row.status],
    ["where", folderText(row.workspaceCwd)],
    ["agent", row.agent ?? stats?.agent],
    ["mode", approvals?.securityMode],
    ["autonomy", approvals?.autonomyProfile],
    ["made", `${sinceText(Date.parse(row.createdAt))} ago`],
    ["used", `${sinceText(Date.parse(row.updatedAt))} ago`],
    ["by", row.createdBy],
    ["parent", row.parentSessionId],
    ["clients", status.clients.map(({ clientId }) => clientId).join(", ")],
    ["prompts", queue.map(({ text, state }) => `${state}: ${text}`).join("\n")],
    ["asks", (row.pendingInteractions ?? []).map(askText).join("\n")],
    ["last error", row.turnError === undefined ? undefined : row.turnError.message],
    ["cost", costText(cost)],
  ];
  const shown = lines.filter(([, value]) => value !== undefined && value !== null && value !== "");
  const width = Math.max(...shown.map(([name]) => name.length));
  const indent = `\n${" ".repeat(width + 2)}`;
  return shown
    .map(([name, value]) => `${name.padEnd(width)}  ${String(value).replaceAll("\n", indent)}\n`)
    .join("");
}

function askText(ask: NonNullable<ListedSummary["pendingInteractions"]>[number]): string {
  const title = ask.kind === "permission" ? ask.action.title : ask.title;
  return `${String(title ?? "")} → fermata approve ${shortId(ask.requestId)}`;
}

function costText({ chargedMicro, openMicro }: JsonObject): string | null {
  if (typeof chargedMicro !== "number" || chargedMicro + Number(openMicro) === 0) return null;
  return `${(chargedMicro / MICRO_IN_CREDIT).toFixed(2)} credits`;
}

const MICRO_IN_CREDIT = 1_000_000;

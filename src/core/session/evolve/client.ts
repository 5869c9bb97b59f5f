import type { ClientId } from "../../id.ts";
import { SHELL_CONTEXT_CHARS_MAX } from "../../limits.ts";
import { cutText, lastOfText } from "../../text.ts";
import type { SessionEvent } from "../event.ts";
import type { RegisteredClient, Session } from "../state.ts";
import { boundTo, remember } from "./prompt.ts";

export function attached(session: Session, { data }: SessionEvent<"client_attached">): Session {
  const known = session.clients.get(data.clientId);
  const userId = known?.userId ?? data.userId ?? null;
  return withClient(session, data.clientId, { count: (known?.count ?? 0) + 1, userId });
}

export function detached(session: Session, { data }: SessionEvent<"client_detached">): Session {
  const known = session.clients.get(data.clientId);
  if (known === undefined) return session;
  const left = known.count > 1 ? { ...known, count: known.count - 1 } : null;
  return withClient(session, data.clientId, left);
}

export function expired(session: Session, { data }: SessionEvent<"client_expired">): Session {
  return withClient(session, data.clientId, null);
}

function withClient(session: Session, id: ClientId, client: RegisteredClient | null): Session {
  const clients = new Map(session.clients);
  if (client === null) clients.delete(id);
  else clients.set(id, client);
  return { ...session, clients };
}

export function shellStarted(session: Session, event: SessionEvent<"user_shell_command">): Session {
  const { shellId, command, clientId, userId } = event.data;
  const atMs = event._meta.serverTimestamp;
  const by = { clientId: clientId ?? null, ...(userId && { userId }) };
  const shell = { command, ...by, startedAtMs: atMs };
  const shells = new Map(session.shells).set(shellId, shell);
  const admissions = remember(session.admissions, event.data, { shellId }, atMs);
  return { ...boundTo(session, clientId, userId), shells, admissions };
}

/** Told to the agent with the next prompt. The newest results are kept, within one budget. */
export function shellEnded(session: Session, { data }: SessionEvent<"user_shell_result">): Session {
  const exit = data.exitCode === null ? (data.signal ?? "aborted") : `exit code ${data.exitCode}`;
  const command = cutText(data.command, SHELL_CONTEXT_CHARS_MAX / 4);
  const output = lastOfText(data.output, SHELL_CONTEXT_CHARS_MAX / 2);
  const note = `$ ${command}\n${output}\n(${exit})`;
  const shells = new Map(session.shells);
  shells.delete(data.shellId);
  let room = SHELL_CONTEXT_CHARS_MAX;
  const kept = [...session.shellContext, note].reverse().filter((text) => {
    room -= text.length;
    return room >= 0;
  });
  return { ...session, shells, shellContext: kept.reverse() };
}

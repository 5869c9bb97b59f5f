import type { ClientId, UserId } from "../../id.ts";
import type { Session } from "../state.ts";

/**
 * A client that came before there were users belongs to the first one who speaks through it: from
 * then on nobody else does.
 */
export function boundTo(
  session: Session,
  clientId: ClientId | undefined,
  userId: UserId | undefined,
): Session {
  if (clientId === undefined || userId === undefined) return session;
  const known = session.clients.get(clientId);
  if (known === undefined || known.userId !== null) return session;
  const clients = new Map(session.clients).set(clientId, { ...known, userId });
  return { ...session, clients };
}

import { z } from "zod";
import { fail, ok } from "../../core/result.ts";
import type { Hit } from "../../store/store.ts";
import type { SearchHit } from "../../wire/search-hit.ts";
import type { Daemon } from "../daemon.ts";
import { answerTo, json, refused } from "../http/answer.ts";
import { readQuery } from "../http/request-schema.ts";
import { type Caller, type Route, route, type ServerRequest } from "../http/route.ts";
import { SealedCursors } from "../http/sealed-cursors.ts";
import { ABOUT_FIND } from "./about/find.ts";
import { PAGE_FIELDS, SESSION_CODES, SESSION_CONDITIONS, sessionsMeant } from "./all-sessions.ts";
import { limitOf } from "./sessions.ts";

const query = z.object({ q: z.string(), ...PAGE_FIELDS, ...SESSION_CONDITIONS });

/** Finds what was said in the sessions that the caller sees, the newest first. Ours. */
export function searchRoute(daemon: Daemon): Route {
  const cursors = new SealedCursors();
  return route({
    method: "GET",
    path: "/search",
    about: ABOUT_FIND.search,
    query,
    needs: "session:read",
    async handle(request) {
      const wanted = await readWanted(daemon, cursors, request);
      if (!wanted.ok) return refused(wanted.refusal);
      const { keeps, page, ...search } = wanted.value;
      const { sessions } = daemon;
      const { caller } = request;
      return answerTo(await sessions.search(caller, search, page), (found) => {
        const hits = found.hits.filter(({ session }) => keeps(session));
        return json(200, {
          hits: hits.map((hit) => hitShown(sessions, caller, hit)),
          ...(found.nextCursor !== null && { nextCursor: cursors.seal(found.nextCursor) }),
          ...(found.isIndexing && { indexing: true }),
        });
      });
    },
  });
}

async function readWanted(daemon: Daemon, cursors: SealedCursors, request: ServerRequest<unknown>) {
  const read = readQuery(query, request.query, SESSION_CODES);
  if (!read.ok) return read;
  const { q, size, cursor } = read.value;
  const sessions = await sessionsMeant(daemon, request, read.value);
  if (!sessions.ok) return sessions;
  const after = cursor ? cursors.open(cursor) : null;
  if (cursor && after === null) return fail("invalid_cursor");
  const page = { limit: limitOf(size), cursor: after };
  return ok({ ...sessions.value, query: q, page });
}

function hitShown(
  sessions: Daemon["sessions"],
  caller: Caller,
  { session, role, turnId, atMs, excerpt }: Hit,
): SearchHit {
  const shown = sessions.summaryOf(caller, session);
  const { sessionId, workspaceCwd, displayName, createdBy, status, closed, updatedAt } = shown;
  return {
    session: {
      sessionId,
      workspaceCwd,
      status,
      updatedAt,
      ...(displayName !== undefined && { displayName }),
      ...(createdBy !== undefined && { createdBy }),
      ...(closed && { closed }),
    },
    role,
    ...(turnId !== null && { turnId }),
    at: new Date(atMs).toISOString(),
    snippet: excerpt.text,
    marks: excerpt.marks,
  };
}

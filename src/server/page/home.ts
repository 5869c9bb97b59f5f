import { HOME_SESSIONS_COUNTED_MAX } from "../../core/limits.ts";
import { SESSION_STATES, type SessionState } from "../../core/status.ts";
import type { Daemon } from "../daemon.ts";
import type { Answer } from "../http/answer.ts";
import { LOCAL_OWNER } from "../http/authenticator.ts";
import type { Pages } from "../http/page-gate.ts";
import { type Markup, markup, page } from "./html.ts";
import type { WebFolder } from "./web-folder.ts";

/** How many sessions there are, by status. */
interface SessionCounts {
  readonly byStatus: ReadonlyMap<HomeStatus, number>;
  /** There are more than were counted. */
  readonly isCut: boolean;
}

/** A closed session has the status `inactive`, but nothing can be done with it as it is. */
type HomeStatus = SessionState | "closed";

/** What the page at `/` says of a server. */
interface HomeFacts {
  readonly version: string;
  /** The address under which the client reached the server; safe in a shell. */
  readonly origin: string;
  readonly needsToken: boolean;
  /** Null if the store does not answer, or the page is for strangers too (P8). */
  readonly sessions: SessionCounts | null;
}

interface PageOptions {
  readonly version: string;
  readonly needsToken: boolean;
  /** The operator's web client, which takes the place of our page at `/`. */
  readonly web: WebFolder | null;
}

/** What browsers get of this server where no route is. */
export function pagesOf(daemon: Daemon, { version, needsToken, web }: PageOptions): Pages {
  return {
    async find(request) {
      const { segments, isRoute, isNavigation, origin } = request;
      const found = isRoute && !isNavigation ? null : await web?.find(request);
      if (found) return found;
      if (isRoute) return null;
      if (web === null && segments?.length === 0) {
        const sessions = needsToken ? null : await countSessions(daemon);
        return homePage({ version, origin, needsToken, sessions });
      }
      return isNavigation ? notFoundPage() : null;
    },
  };
}

/** Counts the sessions of the local tenant, in one read. */
async function countSessions({ sessions }: Daemon): Promise<SessionCounts | null> {
  const limit = HOME_SESSIONS_COUNTED_MAX;
  const listed = await sessions.list(LOCAL_OWNER, {}, { cursor: null, limit });
  if (!listed.ok) return null;
  const byStatus = new Map<HomeStatus, number>();
  for (const record of listed.value.sessions) {
    const { status, closed } = sessions.summaryOf(LOCAL_OWNER, record);
    const name = closed ? "closed" : status;
    byStatus.set(name, (byStatus.get(name) ?? 0) + 1);
  }
  return { byStatus, isCut: listed.value.nextCursor !== null };
}

/** The page for people who open the server in a browser, until there is a console. */
function homePage(facts: HomeFacts): Answer {
  const { version, needsToken } = facts;
  return page(
    200,
    "Fermata",
    markup`<header>
${SIGN}
<div>
<h1>Fermata <small>${version}</small></h1>
<p>Agent session server: sessions of AI agents that outlive their clients.</p>
</div>
</header>
${
  needsToken
    ? signIn(facts)
    : markup`<h2>Sessions</h2>
${statusTable(facts.sessions)}`
}
${attach(facts)}
<h2>A client in the browser</h2>
<p>This server has no console yet. <code>fermata serve --web DIR</code> serves a web client
here instead, such as the Web Shell of Qwen Code: <code>docs/web.md</code> tells how.</p>
<h2>Documentation</h2>
<p>It is in Fermata&rsquo;s repository. Begin with <code>README.md</code>;
<code>docs/protocol.md</code> has every route, <code>docs/operations.md</code> is for teams, and
<code>docs/errors.md</code> explains each refusal.</p>`,
  );
}

/** For a path at which a browser finds nothing. It repeats nothing of the request. */
function notFoundPage(): Answer {
  return page(
    404,
    "Nothing here – Fermata",
    markup`<header>
${SIGN}
<div>
<h1>There is nothing at this path</h1>
<p>This is a Fermata server. <a href="/">Its first page</a> says how to attach.</p>
</div>
</header>`,
  );
}

/** A fermata. */
const SIGN = markup`<svg viewBox="0 0 52 30" aria-hidden="true"><path fill="currentColor"
d="M1 29C2 12 12 2 26 2s24 10 25 27h-2C47 16 38 8 26 8S5 16 3 29z"/><circle fill="currentColor"
cx="26" cy="24" r="4.5"/></svg>`;

const MEANINGS: Readonly<Record<HomeStatus, string>> = {
  inactive: "at rest; the next prompt starts its agent",
  activating: "its agent is starting",
  ready: "its agent waits for a prompt",
  running: "a turn is at work",
  waiting: "its agent asks for an answer",
  deactivating: "its agent is ending",
  error: "its agent failed; the next prompt starts it again",
  closed: "a client closed it; a load brings it back",
};

function statusTable(sessions: SessionCounts | null): Markup {
  if (sessions === null) {
    return markup`<p class="soft">They cannot be counted now:
<code>/health?deep=1</code> says why.</p>`;
  }
  const rows = [...SESSION_STATES, "closed" as const].flatMap((status) => {
    const count = sessions.byStatus.get(status) ?? 0;
    if (count === 0) return [];
    return markup`<tr><td class="count">${count}</td><td class="name">${status}</td>
<td class="soft">${MEANINGS[status]}</td></tr>
`;
  });
  if (rows.length === 0) return markup`<p class="soft">None yet.</p>`;
  const limit = `These are the ${HOME_SESSIONS_COUNTED_MAX} newest; there are more.`;
  return markup`<table>
${rows}</table>
${sessions.isCut ? markup`<p class="soft">${limit}</p>` : ""}`;
}

function signIn({ origin }: HomeFacts): Markup {
  return markup`<h2>Sign in</h2>
<p>Callers of this server need a token, so this page shows nothing of sessions. Ask an owner for an
invitation, and redeem its code:</p>
<pre>fermata join CODE --url ${origin}</pre>`;
}

/** Commands that work as they stand, once there is a token where one is needed. */
function attach({ origin, needsToken }: HomeFacts): Markup {
  const token = needsToken ? "TOKEN=your-token\n" : "";
  const sent = needsToken ? ' -H "Authorization: Bearer $TOKEN"' : "";
  const id = `sed 's/.*"sessionId":"\\([^"]*\\)".*/\\1/'`;
  const prompt = `'{"prompt":[{"type":"text","text":"Hello"}]}'`;
  return markup`<h2>Attach</h2>
<p>To the shared session of the workspace. It begins with the first client:</p>
<pre>URL=${origin}
${token}ID=$(curl -s -X POST "$URL/session"${sent} | ${id})
curl -s "$URL/session/$ID/prompt"${sent} -H 'Content-Type: application/json' \\
  -d ${prompt}
curl -sN "$URL/session/$ID/events"${sent} -H 'Last-Event-ID: 0'</pre>
<p>The last command shows what has happened, and then what happens. All sessions, and each that
changes:</p>
<pre>curl -sN "$URL/events"${sent}</pre>`;
}

import type { IncomingMessage } from "node:http";
import { TLSSocket } from "node:tls";
import { type Answer, refused } from "./answer.ts";
import type { ConnectionHold } from "./connection-shares.ts";
import type { ShareHolder } from "./fair-shares.ts";
import type { RateGate } from "./rate-gate.ts";
import { headerOf, noteRoute } from "./request-scope.ts";

/** A GET or HEAD request to a path that has no such route, or one that yields to pages. */
export interface BrowserRequest {
  /** Whether a route answers if no page does. */
  readonly isRoute: boolean;
  /** Decoded; null if the encoding is broken. */
  readonly segments: readonly string[] | null;
  /** Whether a person opens the path in a browser, rather than a program or a page asking. */
  readonly isNavigation: boolean;
  /** The version of the file that the browser has. */
  readonly ifNoneMatch: string | null;
  /** The address under which the client reached the server; safe in HTML and in a shell. */
  readonly origin: string;
}

/** What browsers get where no route is. It needs no token, so it holds no data of sessions. */
export interface Pages {
  /** Null leaves the request to the checks of the API, which refuse it in JSON. */
  find(request: BrowserRequest): Promise<Answer | null>;
}

export const NO_PAGES: Pages = { find: async () => null };

/** A request on its way to a page. */
interface BrowserArrival extends Pick<BrowserRequest, "segments" | "isRoute"> {
  readonly incoming: IncomingMessage;
  readonly connection: ConnectionHold;
  readonly holder: ShareHolder;
}

/** Answers with pages and with files of the web client, within the limits of strangers (P10). */
export class PageGate {
  readonly #pages: Pages;
  readonly #rates: RateGate;

  constructor(pages: Pages, rates: RateGate) {
    this.#pages = pages;
    this.#rates = rates;
  }

  async answer(arrival: BrowserArrival): Promise<Answer | null> {
    const { incoming, segments, isRoute, connection, holder } = arrival;
    if (incoming.method !== "GET" && incoming.method !== "HEAD") return null;
    const found = await this.#pages.find({
      segments,
      isRoute,
      isNavigation: /\btext\/html\b/i.test(headerOf(incoming, "accept") ?? ""),
      ifNoneMatch: headerOf(incoming, "if-none-match"),
      origin: originOf(incoming),
    });
    if (found === null) return null;
    noteRoute({ path: segments?.length === 0 ? "/" : "/*" });
    const excess = this.#rates.excess(incoming, "read", null);
    const crowd = excess === null && found.kind === "file" ? connection.webFile(holder) : null;
    const answer = crowd === null ? excess : refused(crowd, { Connection: "close" });
    if (answer === null) return found;
    found.afterwards?.("lost");
    return answer;
  }
}

/** A proxy says how its client reached it; that client alone sees the answer. */
function originOf(incoming: IncomingMessage): string {
  const host = headerOf(incoming, "x-forwarded-host") ?? headerOf(incoming, "host") ?? "";
  const isHttps =
    incoming.socket instanceof TLSSocket || headerOf(incoming, "x-forwarded-proto") === "https";
  const name = /^(?:[\w.-]+|\[[\da-f:]+\])(?::\d+)?$/i.test(host) ? host : "this-server";
  return `${isHttps ? "https" : "http"}://${name}`;
}

import type { Refusal } from "../../core/error.ts";
import {
  CONNECTIONS_LITTLE_MAX,
  CONNECTIONS_OF_STRANGERS_MAX,
  CONNECTIONS_OF_WEB_FILES_MAX,
} from "../../core/limits.ts";
import { FairShares, type ShareHolder } from "./fair-shares.ts";
import { extraConnections } from "./listener.ts";

/** What the listener says of its connections. */
export interface ConnectionLoad {
  /** May be infinite. */
  readonly max: number;
  /** Whether more connections have a request than that. */
  isCrowded(): boolean;
}

/**
 * Shares connections between users and tenants (P10): those with a request, and apart from them
 * those with an event stream, so that a tenant with many streams can still send requests.
 */
export class ConnectionShares {
  readonly #load: ConnectionLoad;
  readonly #requests: FairShares;
  readonly #streams: FairShares;
  readonly #strangers: FairShares;
  readonly #webFiles: FairShares;

  constructor(load: ConnectionLoad) {
    this.#load = load;
    const { max } = load;
    const extra = extraConnections(max);
    const parts = { share: 1 / 2, kept: 1 / 4, little: CONNECTIONS_LITTLE_MAX };
    this.#requests = new FairShares({
      ...parts,
      resource: "connections",
      total: max + extra,
      reserved: Math.floor(extra / 2),
    });
    this.#streams = new FairShares({
      ...parts,
      resource: "event streams",
      total: max,
      reserved: 0,
    });
    const withoutCaller = { share: 1 / 2, kept: 0, little: 1, reserved: 0 };
    this.#strangers = new FairShares({
      ...withoutCaller,
      resource: "connections",
      total: CONNECTIONS_OF_STRANGERS_MAX,
    });
    this.#webFiles = new FairShares({
      ...withoutCaller,
      resource: "connections",
      total: CONNECTIONS_OF_WEB_FILES_MAX,
    });
  }

  /** What one request holds of them, nothing at first. */
  hold(): ConnectionHold {
    const shares = {
      requests: this.#requests,
      streams: this.#streams,
      strangers: this.#strangers,
      webFiles: this.#webFiles,
    };
    return new ConnectionHold(shares, () => this.#load.isCrowded());
  }
}

interface Shares {
  readonly requests: FairShares;
  readonly streams: FairShares;
  readonly strangers: FairShares;
  readonly webFiles: FairShares;
}

/** The connection of one request, which may become that of a stream. */
export class ConnectionHold {
  readonly #shares: Shares;
  readonly #isCrowded: () => boolean;
  #release: () => void = () => {};
  #isOver = false;

  constructor(shares: Shares, isCrowded: () => boolean) {
    this.#shares = shares;
    this.#isCrowded = isCrowded;
  }

  request(holder: ShareHolder): Refusal | null {
    return this.#take(this.#shares.requests, holder, this.#isCrowded());
  }

  /** A request with a body whose caller is not known, and need not be. */
  stranger(holder: ShareHolder): Refusal | null {
    return this.#take(this.#shares.strangers, holder, false);
  }

  /** A file of the web client, which needs no caller: how fast it is read is up to the reader. */
  webFile(holder: ShareHolder): Refusal | null {
    return this.#take(this.#shares.webFiles, holder, false);
  }

  /** The connection is a stream's from now on. */
  stream(holder: ShareHolder): Refusal | null {
    return this.#take(this.#shares.streams, holder, false);
  }

  /** The request is over, or its client has disconnected. */
  end() {
    this.#isOver = true;
    this.#release();
    this.#release = () => {};
  }

  #take(shares: FairShares, holder: ShareHolder, isCrowded: boolean): Refusal | null {
    if (this.#isOver) return null;
    const excess = shares.take(holder, 1, isCrowded);
    if (excess !== null) return excess;
    this.#release();
    this.#release = () => shares.release(holder, 1);
    return null;
  }
}

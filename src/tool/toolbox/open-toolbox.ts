import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { TenantId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { TOOLBOX_CALLS_MAX, TOOLBOX_CONNECTIONS_MAX } from "../../core/limits.ts";
import { isShareUsedUp } from "../../core/share.ts";
import { type OfferedTool, TOOLBOX_NAME } from "../toolbox.ts";

/** How many of something all tenants have, of which each has a share (P10). */
export class TenantCount {
  readonly #limit: number;
  readonly #held = new Map<TenantId, number>();
  #count = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Takes one more, and answers how it is given back, once; null if the share is used up. */
  take(tenantId: TenantId): (() => void) | null {
    const held = this.#held.get(tenantId) ?? 0;
    if (isShareUsedUp(held, this.#limit - this.#count)) return null;
    this.#change(tenantId, 1);
    let isTaken = true;
    return () => {
      if (isTaken) this.#change(tenantId, -1);
      isTaken = false;
    };
  }

  #change(tenantId: TenantId, by: number) {
    const held = (this.#held.get(tenantId) ?? 0) + by;
    this.#count += by;
    if (held === 0) this.#held.delete(tenantId);
    else this.#held.set(tenantId, held);
  }
}

/** What all toolboxes of a server share. */
export interface SharedCounts {
  readonly toolboxes: TenantCount;
  readonly connections: TenantCount;
  readonly calls: TenantCount;
}

/**
 * The beginning of all secrets, longer than what a search for secrets looks for first: so however
 * many there are, it is one thing to look for.
 */
const SECRET_BEGINNING = "fermata-secret-of-one-session-and-its-tools-";
const SECRET_BYTES = 32;

interface OpenToolboxParts {
  readonly tenantId: TenantId;
  /** The user of the system that its agent runs as. */
  readonly uid: number;
  readonly tools: readonly OfferedTool[];
  readonly counts: SharedCounts;
}

/** A connection of a toolbox, as the toolbox knows it. */
interface ToolboxPeer {
  /** Resolves when what its agent has sent so far has come in. */
  settled(): Promise<void>;
  end(): void;
}

/** One toolbox, as the connections of its agent find it. */
export class OpenToolbox {
  readonly uid: number;
  readonly tools: readonly OfferedTool[];
  readonly secret = `${SECRET_BEGINNING}${randomBytes(SECRET_BYTES).toString("base64url")}`;
  readonly #digest = digestOf(this.secret);
  readonly #tenantId: TenantId;
  readonly #counts: SharedCounts;
  readonly #connections = new Set<ToolboxPeer>();
  #made = 0;
  #calls = 0;

  constructor({ tenantId, uid, tools, counts }: OpenToolboxParts) {
    this.#tenantId = tenantId;
    this.uid = uid;
    this.tools = tools;
    this.#counts = counts;
  }

  /** The name under which it is found; it says nothing of the secret. */
  get name(): string {
    return this.#digest.toString("hex");
  }

  static nameOf(secret: string): string {
    return digestOf(secret).toString("hex");
  }

  isOpenedBy(secret: string): boolean {
    return timingSafeEqual(digestOf(secret), this.#digest);
  }

  /** Adds a connection; null if there are too many. */
  join(peer: ToolboxPeer): { readonly prefix: string; leave(): void } | null {
    if (this.#connections.size >= TOOLBOX_CONNECTIONS_MAX) return null;
    const giveBack = this.#counts.connections.take(this.#tenantId);
    if (giveBack === null) return null;
    this.#connections.add(peer);
    this.#made += 1;
    const leave = () => {
      this.#connections.delete(peer);
      giveBack();
    };
    return { prefix: `${this.#made}-`, leave };
  }

  admitCall(): (() => void) | null {
    if (this.#calls >= TOOLBOX_CALLS_MAX) return null;
    const giveBack = this.#counts.calls.take(this.#tenantId);
    if (giveBack === null) return null;
    this.#calls += 1;
    return () => {
      this.#calls -= 1;
      giveBack();
    };
  }

  async settled(): Promise<void> {
    await Promise.all([...this.#connections].map((peer) => peer.settled()));
  }

  end() {
    for (const peer of [...this.#connections]) peer.end();
  }

  /** In the form of ACP. */
  serverWith(program: readonly string[], socket: string): JsonObject {
    const [command, ...args] = program;
    const env = [
      { name: "FERMATA_TOOLBOX", value: socket },
      { name: "FERMATA_TOOLBOX_SECRET", value: this.secret },
    ];
    return { name: TOOLBOX_NAME, command, args, env };
  }
}

function digestOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

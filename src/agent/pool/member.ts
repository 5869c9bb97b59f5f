import type { TenantId } from "../../core/id.ts";
import type { Result } from "../../core/result.ts";
import type { AgentHost } from "../bridge/host.ts";
import type { AgentProfile } from "../profile/profile.ts";
import type { WireTap } from "../trace.ts";

/** Who may share a process. Tenants never do. */
export interface Place {
  /** All of it in one text, but for what the profile says, which may be changed. */
  readonly name: string;
  readonly tenantId: TenantId;
  readonly profile: AgentProfile;
  readonly workspace: string;
}

/** A process on its way, and the sessions that have a seat in it already. */
export interface Starting {
  readonly place: Place;
  readonly abort: AbortController;
  /** Where its lines go, with the number that it has. */
  readonly tap: WireTap;
  /** Never rejects. */
  readonly done: Promise<Result<Member>>;
  /** What has become of it. */
  member: Member | null;
  seats: number;
  /** It has its share of what there is, which nobody else is given any more. */
  hasRoom: boolean;
  /** It was started before a session wanted it. */
  isPreheated: boolean;
}

/** One process of the pool. */
export class Member {
  readonly place: Place;
  readonly process: number;
  readonly host: AgentHost;
  readonly startedMs: number;
  /** Sessions that have a seat and are not with the host yet, which counts them from then on. */
  arriving: number;
  /** It did not answer when it was to make a session. */
  isHung = false;
  /** What it and its children had in memory when it was last looked at. */
  bytes = 0;
  #idle: NodeJS.Timeout | null = null;

  constructor({ place, tap, seats }: Starting, host: AgentHost, startedMs: number) {
    this.place = place;
    this.process = tap.process;
    this.host = host;
    this.startedMs = startedMs;
    this.arriving = seats;
  }

  get isUnused(): boolean {
    return this.host.sessionCount + this.arriving === 0;
  }

  /** One that has grown large or cannot be trusted keeps its sessions, and gets no further ones. */
  get isUsable(): boolean {
    return this.host.isOpen && this.bytes < this.host.profile.limits.memoryBytes;
  }

  /** Whoever has changed the profile does not mean the processes of before. */
  hasRoomFor({ name, profile }: Place): boolean {
    const seats = this.host.sessionCount + this.arriving;
    const isHere = this.place.name === name && this.host.profile === profile;
    return isHere && this.isUsable && seats < profile.limits.sessionsPerProcess;
  }

  async weigh(): Promise<void> {
    this.bytes = (await this.host.process.memoryBytes()) ?? 0;
  }

  /** Nobody uses it: after a while it ends. */
  rest(end: () => void) {
    if (this.#idle !== null) return;
    this.#idle = setTimeout(end, this.host.profile.limits.idleMs);
    this.#idle.unref();
  }

  stir() {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = null;
  }
}

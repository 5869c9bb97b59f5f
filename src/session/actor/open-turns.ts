import type { TenantId, UserId } from "../../core/id.ts";
import { TURNS_SETTLED_AT_ONCE_MAX } from "../../core/limits.ts";
import type { Command } from "../../core/session/command.ts";
import { Semaphore } from "../../platform/semaphore.ts";
import type { Snapshot } from "../../store/store.ts";
import type { OpenSession } from "./open.ts";
import type { Decided, Outcome } from "./written.ts";

/** Whose memory a turn takes: that of the session's tenant, and of the user who made it. */
interface TurnUser {
  readonly tenantId: TenantId;
  readonly userId: UserId | null;
}

/** What one live session holds of its open turn. */
export class TurnMemory {
  readonly owner: TurnUser;
  readonly stop: () => void;
  readonly #turns: OpenTurns;
  bytes = 0;
  /** Its turn is running, and was not told to stop yet. */
  isStoppable = false;
  /** Its turn has ended and waits to be written. */
  isSettling = false;

  constructor(turns: OpenTurns, owner: TurnUser, stop: () => void) {
    this.#turns = turns;
    this.owner = owner;
    this.stop = stop;
  }

  /** Says how much it holds now; this may stop the turn at once. */
  hold(bytes: number, isStoppable: boolean) {
    this.isStoppable = isStoppable;
    this.#turns.changed(this, bytes);
  }

  leave() {
    this.isStoppable = false;
    this.#turns.left(this);
  }
}

/**
 * The memory of all open turns of a server, which has one limit (P10). Above it a turn is stopped:
 * the largest one of the user who holds most, in the tenant that holds most. So a tenant that holds
 * less than the others loses nothing by them. Large turns are settled one at a time.
 */
export class OpenTurns {
  readonly #bytesMax: number;
  readonly #members = new Set<TurnMemory>();
  readonly settling = new Semaphore(TURNS_SETTLED_AT_ONCE_MAX);
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** What all of them hold. */
  get bytes(): number {
    return this.#bytes;
  }

  join({ key, session }: Pick<OpenSession, "key" | "session">, stop: () => void): TurnMemory {
    const owner = { tenantId: key.tenantId, userId: session.fixed.createdBy ?? null };
    return new TurnMemory(this, owner, stop);
  }

  changed(member: TurnMemory, bytes: number) {
    this.#bytes += bytes - member.bytes;
    member.bytes = bytes;
    if (bytes > 0) this.#members.add(member);
    else this.#members.delete(member);
    if (this.#bytes > this.#bytesMax) this.#largest()?.stop();
  }

  left(member: TurnMemory) {
    this.changed(member, 0);
  }

  /** Of those that are being settled the memory comes back by itself. */
  #largest(): TurnMemory | null {
    const running = [...this.#members].filter((one) => one.isStoppable && !one.isSettling);
    const ofTenant = heaviest(running, ({ owner }) => owner.tenantId);
    const ofUser = heaviest(ofTenant, ({ owner }) => owner.userId ?? "");
    return ofUser.reduce<TurnMemory | null>(
      (most, one) => (most === null || one.bytes > most.bytes ? one : most),
      null,
    );
  }
}

/** The group that holds most. */
function heaviest(
  members: readonly TurnMemory[],
  nameOf: (member: TurnMemory) => string,
): readonly TurnMemory[] {
  const groups = [...Map.groupBy(members, nameOf).values()];
  const [first] = groups.sort((a, b) => bytesOf(b) - bytesOf(a));
  return first ?? [];
}

function bytesOf(members: readonly TurnMemory[]): number {
  return members.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** A command, and the caller that waits for its answer; null if none does. */
export interface TakenCommand {
  readonly command: Command;
  readonly waiter: CommandWaiter | null;
}

interface CommandWaiter {
  resolve(outcome: Outcome): void;
  reject(thrown: unknown): void;
}

/** A fault of the server's: of a command whose caller does not wait, the process is told. */
function failed({ waiter }: TakenCommand, thrown: unknown) {
  if (waiter === null) void Promise.reject(thrown);
  else waiter.reject(thrown);
}

/** What was decided and written while a command was held. */
type Prepared = Decided & { readonly snapshot: Snapshot | null };

/** What the end of a large turn is taken with. */
export interface LargeTurnEnd {
  /** Gives back the permit for it. */
  readonly settled?: () => void;
  readonly prepared?: Prepared;
}

interface HeldDeps {
  /** Writes what the first command comes to, in steps (P10). */
  prepare(): Promise<Prepared>;
  /** All is ready: commands that come from now on are not held. */
  begin(): void;
  /** The first command is the end of a large turn. */
  take(taken: TakenCommand, end?: LargeTurnEnd): void;
}

/**
 * The commands of a session while the end of its large turn waits for that of another, because it
 * takes several times its memory. What comes meanwhile is decided after it. A command that throws
 * fails alone: it keeps neither the permit nor the commands behind it.
 */
export class HeldCommands {
  readonly #commands: TakenCommand[];
  /** Resolves when all of them are decided. */
  readonly goesOn: Promise<void>;

  constructor(first: TakenCommand, settling: Semaphore, deps: HeldDeps) {
    const { prepare, begin, take } = deps;
    this.#commands = [first];
    this.goesOn = settling.acquire().then(async (release) => {
      const prepared = await prepare().catch((thrown: unknown) => ({ thrown }));
      begin();
      for (const taken of this.#commands) {
        try {
          if (taken !== first) take(taken);
          else if ("thrown" in prepared) throw prepared.thrown;
          else take(taken, { settled: release, prepared });
        } catch (thrown) {
          if (taken === first) release();
          failed(taken, thrown);
        }
      }
    });
  }

  push(taken: TakenCommand) {
    this.#commands.push(taken);
  }
}

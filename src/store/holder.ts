import {
  isGone,
  type ProcessIdentity,
  startOf,
  thisProcess,
} from "../platform/process-identity.ts";
import { holderFault } from "./fields.ts";

export { isGone, isThisProcess } from "../platform/process-identity.ts";

/** A process that owns sessions: named so that a person can find it, and a machine can check it. */
export interface Holder extends ProcessIdentity {
  /** Tells owners within one process apart: two that share a label count as one. */
  readonly label: string;
}

export function thisHolder(label: string): Holder {
  return { ...thisProcess(), label };
}

/** A holder as it was written down; null if it is none. */
export function readHolder(text: string): Holder | null {
  try {
    const value: Holder = JSON.parse(text);
    return holderFault(value) === null ? value : null;
  } catch {
    return null;
  }
}

/**
 * Whether a process of this machine is at work as this holder. The machine may have had another
 * name when the holder was written down; within one boot its processes are known all the same.
 */
export function isAliveHere(holder: Holder): boolean {
  const here = thisProcess();
  if (holder.host === here.host) return !isGone(holder);
  const startedAt = holder.bootId === here.bootId ? startOf(holder.pid) : null;
  return startedAt === "" || startedAt === holder.startedAt;
}

/**
 * Whether another holder may take a held session: not while its holder may be alive. A holder may
 * take again what is its own, because the new term fences its earlier writes.
 */
export function mayTake(held: Holder | null, by: Holder): boolean {
  return held === null || isGone(held) || isSame(held, by);
}

function isSame(held: Holder, by: Holder): boolean {
  const { host, bootId, pid, startedAt, label } = held;
  const alike = host === by.host && bootId === by.bootId && startedAt === by.startedAt;
  return alike && pid === by.pid && label === by.label;
}

export function describeHolder({ label, pid, host }: Holder): string {
  return `${label} (process ${pid} on ${host})`;
}

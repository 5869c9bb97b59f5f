import type { TurnId } from "../../src/core/id.ts";
import { readMessage } from "../../src/session/conversation/message.ts";
import type { SessionKey } from "../../src/store/index.ts";
import { nameOf } from "./disk.ts";
import type { Scene } from "./scene.ts";

interface Fork {
  readonly source: SessionKey;
  readonly copy: SessionKey;
  /** Null is the last one that was whole. */
  readonly turnId: TurnId | null;
}

/** A fork that a client was promised: it is there, announced, with the conversation so far. */
export async function judgeFork(scene: Scene, { source, copy, turnId }: Fork): Promise<void> {
  const { disk, judge } = scene;
  const from = disk.log(source);
  const log = disk.log(copy);
  // Another client may have found it before the answer, and deleted it.
  const isThere = log === undefined ? disk.known.has(nameOf(copy)) : !log.isDraft;
  judge.holds(isThere, "P1", () => `${nameOf(copy)} was promised, and is not stored`);
  const isAnnounced = from === undefined || from.branches.has(copy.sessionId);
  judge.holds(isAnnounced, "P1", () => `${nameOf(copy)} is not announced`);
  const told = await conversation(scene, source);
  const all = await conversation(scene, copy);
  if (from === undefined || log === undefined || told === null || all === null) return;
  const known = new Set(told.map(({ turn }) => turn));
  const copied = all.filter(({ turn }) => known.has(turn));
  const isPrefix = copied.every(({ text }, index) => text === told[index]?.text);
  const last = copied.at(-1)?.turn;
  const isWhole = last !== undefined && told[copied.length]?.turn !== last;
  const isWanted = turnId === null || turnId === last;
  const sentence = `${nameOf(copy)} ends with ${last} after ${copied.length} of ${told.length}`;
  judge.holds(isPrefix && isWhole && isWanted, "P6", () => sentence);
}

interface Told {
  readonly turn: string;
  readonly text: string;
}

/** Null if it has been deleted meanwhile. */
async function conversation({ disk }: Scene, key: SessionKey): Promise<readonly Told[] | null> {
  const page = await disk.store.readMessages(key, { after: 0, limit: 1_000 });
  if (!page.ok) return null;
  return page.value.rows.map(({ text }) => ({ turn: readMessage(text)?.turnId ?? "", text }));
}

/** After a life without trouble, every fork that is there was announced, and none is unfinished. */
export function judgeForks({ disk, judge, isUndisturbed }: Scene) {
  for (const { key } of disk.drafts) {
    judge.holds(false, "P5", () => `${nameOf(key)} is an unfinished fork, and is left`);
  }
  if (!isUndisturbed) return;
  for (const log of disk.logs.values()) {
    const sentence = () => `${nameOf(log.key)} is there and was never announced`;
    judge.holds(disk.isAnnounced(log), "P1", sentence);
  }
}

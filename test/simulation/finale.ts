import { hasTurn } from "../../src/core/status.ts";
import type { Director } from "./director.ts";
import { holderOf } from "./disk.ts";
import type { Scene } from "./scene.ts";

/** Runs everything that can still happen. */
export type RunOut = () => Promise<void>;

/**
 * The end of a life: nothing goes wrong any more, everything comes to rest, and what is left has
 * to be what was promised.
 */
export async function finale(director: Director, runOut: RunOut): Promise<void> {
  const { scene } = director;
  scene.heal();
  const acts: readonly (() => Promise<void> | void)[] = [
    runOut,
    () => atRest(director),
    () => stopTurns(director, runOut),
    () => atRest(director),
    () => noneWaits(scene),
    () => readersHaveAll(director),
    () => recoverTwice(director, runOut),
    () => endLast(director, runOut),
    () => allGone(director),
  ];
  // What comes after a broken promise says nothing more about it.
  for (const act of acts) if (scene.judge.isContent) await act();
}

async function endLast(director: Director, runOut: RunOut): Promise<void> {
  for (const subscriber of director.subscribers) subscriber.leave();
  for (let servers = 0; servers < LAST_SERVERS_MAX; servers += 1) {
    void director.stop();
    await runOut();
    if (!director.server.hasAbandoned) return;
    // What one server had to leave, its store being silent, is for the next to close.
    void director.crash();
    await runOut();
  }
}

const LAST_SERVERS_MAX = 5;

/** Nothing can happen by itself any more: so nobody may be waiting for anything. */
function atRest({ server, scene, live: all }: Director) {
  const { judge, disk } = scene;
  const open = [...server.open.values()];
  judge.holds(open.length === 0, "Hang", () => `never answered: ${open.join(", ")}`);
  const live = new Map(all.map((one) => [one.key.sessionId, one]));
  for (const { key, session } of live.values()) {
    const { sessionState } = session.connection;
    const isHalfway = sessionState === "activating" || sessionState === "deactivating";
    judge.holds(!isHalfway, "P5", () => `${key.sessionId} stays ${sessionState}`);
    const isStuck = session.running === null && session.queue.length > 0;
    judge.holds(!isStuck, "P2", () => `${key.sessionId} is ${sessionState} and its queue waits`);
  }
  for (const { key, waiting, status } of disk.logs.values()) {
    // One that could not be made may be left over if the store would not delete it.
    const isNobodys = !live.has(key.sessionId) && !scene.refused.has(key.sessionId);
    const isForgotten = isNobodys && status !== "inactive";
    judge.holds(!isForgotten, "P5", () => `${key.sessionId} is ${status} and in nobody's hands`);
    const isStranded = !live.has(key.sessionId) && waiting.length > 0;
    judge.holds(!isStranded, "P2", () => `${key.sessionId} was let go with ${waiting}`);
  }
  const wanted = new Set<string | null>();
  for (const { session } of live.values()) {
    const { sessionState } = session.connection;
    if (sessionState === "ready" || hasTurn(sessionState)) wanted.add(session.agentSessionId);
  }
  for (const { name } of server.agents.open) {
    judge.holds(wanted.has(name), "P5", () => `${name} is there and nobody has it`);
  }
}

/** Turns that hang for want of people are cancelled, until none is left. */
async function stopTurns(director: Director, runOut: RunOut): Promise<void> {
  const { server, scene } = director;
  const by = { actor: { kind: "server" } } as const;
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const busy = director.live.filter(({ session }) => session.running !== null);
    if (busy.length === 0) return;
    for (const live of busy) {
      const atMs = scene.schedule.nowMs;
      void server.asked("last cancel", live.submit({ ...by, atMs, type: "cancel" }));
    }
    await runOut();
  }
}

/** More than a queue holds, so that each waiting prompt may hang once. */
const ROUNDS_MAX = 12;

function noneWaits({ disk, judge }: Scene) {
  for (const { key, waiting, openAsks, status } of disk.logs.values()) {
    judge.holds(waiting.length === 0, "P2", () => `${key.sessionId}: ${waiting} have no verdict`);
    judge.holds(openAsks.size === 0, "P5", () => `${key.sessionId}: ${[...openAsks]} stay open`);
    judge.holds(!hasTurn(status), "P5", () => `${key.sessionId} stays ${status}`);
  }
}

function readersHaveAll({ scene, subscribers }: Director) {
  for (const { name, key, lastId, hasLeft } of subscribers) {
    const last = scene.disk.log(key)?.lastId ?? lastId;
    const sentence = `${name} has ${key.sessionId} to ${lastId} of ${last}`;
    scene.judge.holds(hasLeft || lastId === last, "P3", () => sentence);
  }
}

/** A second crash right after a recovery finds nothing to do. */
async function recoverTwice(director: Director, runOut: RunOut): Promise<void> {
  const { disk, judge, chance } = director.scene;
  if (chance.happens(0.5)) return;
  for (const subscriber of director.subscribers) subscriber.leave();
  void director.crash();
  await runOut();
  const once = [...disk.logs.values()].map(({ texts }) => [...texts]);
  void director.crash();
  await runOut();
  const twice = [...disk.logs.values()].map(({ texts }) => [...texts]);
  const isSame = JSON.stringify(once) === JSON.stringify(twice);
  judge.holds(isSame, "P5", () => "a second recovery found something to do");
}

/** After the last server's end: the disk says what the log says, and everything is at rest. */
async function allGone({ scene, server }: Director): Promise<void> {
  const { judge, disk, schedule } = scene;
  judge.holds(!server.isUp, "Hang", () => "the last server does not stop");
  const { pending } = schedule;
  judge.holds(pending.length === 0, "P5", () => `still to come: ${pending}`);
  for (const { key, texts } of disk.logs.values()) {
    const why = scene.refused.get(key.sessionId);
    const isLeft = scene.isReliable && why?.startsWith("agent_");
    judge.holds(!isLeft, "P5", () => `${key.sessionId} was refused (${why}), and is there`);
    if (why !== undefined) continue;
    const record = await disk.store.readRecord(key);
    const { status, holder } = record.ok ? record.value : { status: "gone", holder: null };
    judge.holds(status === "inactive", "P5", () => `${key.sessionId} is ${status}`);
    // One that needed nothing since an earlier server crashed may still carry that one's name.
    const isHeld = holder?.label === holderOf(server.number).label;
    judge.holds(!isHeld || !scene.isReliable, "P5", () => `${key.sessionId} was not given back`);
    const stored: string[] = [];
    while (stored.length < texts.length) {
      const page = await disk.store.readEvents(key, { after: stored.length, limit: 1_000 });
      if (!page.ok || page.value.events.length === 0) break;
      stored.push(...page.value.events.map(({ text }) => text));
    }
    const isSame = stored.length === texts.length && stored.every((text, at) => text === texts[at]);
    judge.holds(isSame, "P1", () => `${key.sessionId}: the store and what it was given differ`);
  }
}

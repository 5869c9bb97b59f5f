import { hasTurn } from "../../src/core/status.ts";
import type { Director } from "./director.ts";
import { holderOf, nameOf } from "./disk.ts";
import { judgeForks } from "./fork-judge.ts";
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
    () => openShelled(director, runOut),
    () => atRest(director),
    () => stopTurns(director, runOut),
    () => atRest(director),
    () => noneWaits(scene),
    () => readersHaveAll(director),
    () => consolesAreRight(director),
    () => letIdle(director, runOut),
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

/**
 * A command whose server died while its session had no agent has its result when a client opens
 * that session: until then no client can see that it has none.
 */
async function openShelled(director: Director, runOut: RunOut): Promise<void> {
  const { server, scene } = director;
  for (const { key, openShells } of scene.disk.logs.values()) {
    if (openShells.size > 0) void server.asked("last look", server.runtime.find(key));
  }
  await runOut();
}

/** Nothing can happen by itself any more: so no call may be waiting. */
function atRest(director: Director) {
  const { server, scene, live: all } = director;
  const { judge, disk } = scene;
  const open = [...server.open.values()];
  judge.holds(open.length === 0, "Hang", () => `never answered: ${open.join(", ")}`);
  const live = new Map(all.map((one) => [nameOf(one.key), one]));
  for (const [name, { session }] of live) {
    const { sessionState } = session.connection;
    const isHalfway = sessionState === "activating" || sessionState === "deactivating";
    judge.holds(!isHalfway, "P5", () => `${name} stays ${sessionState}`);
    const isStuck = session.running === null && session.queue.length > 0;
    judge.holds(!isStuck, "P2", () => `${name} is ${sessionState} and its queue waits`);
  }
  for (const [name, { waiting, status, openShells }] of disk.logs) {
    // One that could not be made may be left over if the store would not delete it.
    const isNobodys = !live.has(name) && !scene.refused.has(name);
    const isForgotten = isNobodys && status !== "inactive";
    judge.holds(!isForgotten, "P5", () => `${name} is ${status} and in nobody's hands`);
    const isStranded = !live.has(name) && waiting.length > 0;
    judge.holds(!isStranded, "P2", () => `${name} was let go with ${waiting}`);
    judge.holds(openShells.size === 0, "P5", () => `${name}: no result of ${[...openShells]}`);
  }
  const lines = [...server.shell.open];
  judge.holds(lines.length === 0, "P5", () => `still at work: ${lines}`);
  judgeExtensions(director);
  judgeChildren(director);
  const wanted = new Set<string | null>();
  for (const { session } of live.values()) {
    const { sessionState } = session.connection;
    if (sessionState === "ready" || hasTurn(sessionState)) wanted.add(session.agentSessionId);
  }
  for (const { name } of server.agents.open) {
    judge.holds(wanted.has(name), "P5", () => `${name} is there and nobody has it`);
  }
}

/** What is at work belongs to a session, and a session says what it is without. */
function judgeExtensions({ server, scene, live: all }: Director) {
  if (server.extensions === null || !server.isUp) return;
  const { open } = server.extensions;
  const ids = new Set<string>(all.map(({ key }) => key.sessionId));
  for (const { start } of open) {
    const { sessionId } = start.session;
    const sentence = () => `${start.id} is at work for ${sessionId}, which is not live`;
    scene.judge.holds(ids.has(sessionId), "P5", sentence);
  }
  for (const live of all) scene.extensions?.judge.look(live, open);
}

/** A child has a limit of time: it has ended by now, and nothing of it is left. */
function judgeChildren({ server, scene: { judge, disk } }: Director) {
  for (const [name, { children }] of disk.logs) {
    const open = [...children.open.keys()];
    judge.holds(open.length === 0, "P5", () => `${name}: ${open} stay at work`);
  }
  if (server.toolboxes === null || !server.isUp) return;
  const calls = [...server.toolboxes.calls.values()];
  judge.holds(calls.length === 0, "Hang", () => `agents never answered: ${calls}`);
  const agents = server.agents.open.size;
  const { size } = server.toolboxes.opened;
  judge.holds(size <= agents, "P5", () => `${size} toolboxes are open for ${agents} agents`);
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

/**
 * What a console was told last of each session is what is stored. A session that was closed by a
 * write whose answer was lost tells that when it is opened again, and not before.
 */
function consolesAreRight({ scene, server, consoles, live }: Director) {
  const told = new Set(live.map(({ key }) => nameOf(key)));
  const open = consoles.filter((one) => one.isOpen && one.server === server && server.isUp);
  for (const { statuses, tenantId } of open) {
    for (const [name, { key, status, record }] of scene.disk.logs) {
      // A fork that no client has opened yet was never live, and so has published nothing.
      const isFork = record?.sourceType === "branch" && !statuses.has(name);
      const isNews = !isFork && (told.has(name) || scene.isReliable);
      if (key.tenantId !== tenantId || !isNews || scene.refused.has(name)) continue;
      const shown = statuses.get(name);
      const sentence = `a console of ${tenantId} shows ${name} as ${shown}, it is ${status}`;
      scene.judge.holds(shown === status, "P1", () => sentence);
    }
  }
}

/** The server evicts what no client uses or watches. */
async function letIdle(director: Director, runOut: RunOut): Promise<void> {
  const { scene, server } = director;
  if (scene.chance.happens(0.8)) return;
  const { idleMs, reapMs } = server.settings;
  const watched = new Set(
    director.subscribers.filter(({ hasLeft }) => !hasLeft).map(({ key }) => nameOf(key)),
  );
  void scene.schedule.beat("director", "has waited", { inMs: (idleMs ?? 0) + 3 * reapMs });
  await runOut();
  for (const { key, isBusy } of director.live) {
    const isUsed = isBusy || watched.has(nameOf(key)) || !server.isUp;
    scene.judge.holds(isUsed, "P10", () => `${nameOf(key)} is kept, and nobody uses it`);
  }
}

/** A second crash right after a recovery finds nothing to do. */
async function recoverTwice(director: Director, runOut: RunOut): Promise<void> {
  const { disk, judge, chance } = director.scene;
  if (chance.happens(0.5)) return;
  for (const subscriber of director.subscribers) subscriber.leave();
  void director.crash();
  await runOut();
  judgeForks(director.scene);
  const lengths = () => [...disk.logs].map(([name, { lastId }]) => `${name} ${lastId}`).join();
  const once = lengths();
  void director.crash();
  await runOut();
  judge.holds(once === lengths(), "P5", () => "a second recovery found something to do");
}

/** After the last server's end: the disk says what the log says, and everything is at rest. */
async function allGone({ scene, server }: Director): Promise<void> {
  const { judge, disk, schedule } = scene;
  judge.holds(!server.isUp, "Hang", () => "the last server does not stop");
  const { pending } = schedule;
  judge.holds(pending.length === 0, "P5", () => `still to come: ${pending}`);
  for (const { key, texts } of disk.logs.values()) {
    const why = scene.refused.get(nameOf(key));
    // One that another client has used meanwhile stays for that client.
    const isUnknown = !scene.known.has(nameOf(key));
    const isLeft = scene.isReliable && isUnknown && why?.startsWith("agent_");
    judge.holds(!isLeft, "P5", () => `${key.sessionId} was refused (${why}), and is there`);
    if (why !== undefined) continue;
    const record = await disk.store.readRecord(key);
    const { status, holder } = record.ok ? record.value : { status: "gone", holder: null };
    judge.holds(status === "inactive", "P5", () => `${key.sessionId} is ${status}`);
    // One that needed nothing since an earlier server crashed may still carry that one's name.
    const isHeld = holder?.label === holderOf(server.number).label;
    judge.holds(!isHeld || !scene.isReliable, "P5", () => `${key.sessionId} was not given back`);
    const trimmed = record.ok ? record.value.earliestEventId - 1 : 0;
    const kept = texts.slice(trimmed);
    const stored: string[] = [];
    while (stored.length < kept.length) {
      const after = trimmed + stored.length;
      const page = await disk.store.readEvents(key, { after, limit: 1_000 });
      if (!page.ok || page.value.events.length === 0) break;
      stored.push(...page.value.events.map(({ text }) => text));
    }
    const isSame = stored.length === kept.length && stored.every((text, at) => text === kept[at]);
    judge.holds(isSame, "P1", () => `${key.sessionId}: the store and what it was given differ`);
  }
}

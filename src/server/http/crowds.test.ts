import { once } from "node:events";
import type { Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { CONNECTIONS_EXTRA_MIN, SOCKETS_EVICTED_MAX } from "../../core/limits.ts";
import { json } from "./answer.ts";
import { headOf, socketFrom } from "./callers.fixture.ts";
import { closeCrowd, guarded, keep, MAX, passes } from "./crowd.fixture.ts";
import { route } from "./route.ts";
import { type ServerWorld, UNDESCRIBED } from "./server.fixture.ts";

afterEach(closeCrowd);

/** So many tenants send requests at once, each from an address of its own. */
const TENANTS = 8;

/** Sends a request for each of so many clients; returns what each of them is told first. */
function crowd(
  world: ServerWorld,
  count: number,
  line: string,
  send: (socket: Socket, head: string) => void,
): readonly Promise<string>[] {
  return Array.from({ length: count }, (_, at) => {
    const tenant = 1 + (at % TENANTS);
    const socket = keep(socketFrom(world, `127.0.1.${tenant}`));
    send(socket, headOf(world, line, { token: `t${tenant}/u${tenant}` }));
    return firstWords(socket);
  });
}

/** The status of the answer, or how the connection ended without one. */
function firstWords(socket: Socket): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  socket.once("data", (chunk) => resolve(String(chunk).slice(9, 12)));
  socket.once("error", (error) => resolve(error.message));
  socket.once("close", () => resolve("closed"));
  return promise;
}

function counted(all: readonly string[]): Readonly<Record<string, number>> {
  const groups = Object.entries(Object.groupBy(all, (one) => one));
  return Object.fromEntries(groups.map(([one, same]) => [one, same?.length ?? 0]));
}

describe("P10: clients that end their side after the request, and read on", () => {
  it.each(["GET /slow", "GET /stream"])("hold nothing with %s", async (line) => {
    const world = await guarded();
    const told = crowd(world, 4 * MAX, line, (socket, head) => socket.end(head));
    await passes(world);
    await Promise.all(told);
    await passes(world);
    await expect.poll(() => world.server.openRequestCount).toBe(0);
    await expect.poll(() => world.server.connectionCount).toBe(0);
    expect(world.server.openStreamCount).toBe(0);
  });

  it("get their answers where the route gives them, and no more of them than others", async () => {
    const { promise: settled, resolve: settle } = Promise.withResolvers<void>();
    const admitted = route({
      method: "POST",
      path: "/admitted",
      about: UNDESCRIBED,
      needs: null,
      answersHalfClosed: true,
      async handle() {
        await settled;
        return json(202, {});
      },
    });
    const world = await guarded(admitted);
    const told = crowd(world, 4 * MAX, "POST /admitted", (socket, head) => socket.end(head));
    let toldCount = 0;
    for (const one of told) void one.then(() => (toldCount += 1));
    const { server } = world;
    await expect.poll(() => toldCount + server.openRequestCount).toBe(4 * MAX);
    await passes(world);
    settle();
    const answers = counted(await Promise.all(told));
    expect(Object.keys(answers).sort()).toEqual(["202", "503"]);
    expect(answers["202"]).toBeGreaterThanOrEqual(MAX);
    expect(answers["202"]).toBeLessThanOrEqual(MAX + CONNECTIONS_EXTRA_MIN);
    await expect.poll(() => world.server.connectionCount).toBe(0);
  });
});

describe("P10: more connections than there is room for", () => {
  const ROOM = MAX + CONNECTIONS_EXTRA_MIN + SOCKETS_EVICTED_MAX;

  it("get an answer each, none a reset, and a quiet tenant goes on", async () => {
    const world = await guarded();
    const all = 4 * ROOM;
    const answers: string[] = [];
    const told = crowd(world, all, "GET /slow", (socket, head) => socket.write(head));
    for (const one of told) void one.then((answer) => answers.push(answer));
    await expect.poll(() => answers.length + world.server.openRequestCount).toBe(all);
    expect(Object.keys(counted(answers))).toEqual(["503"]);
    expect(world.server.connectionCount).toBeLessThanOrEqual(ROOM);
    await passes(world);
  });

  it("get it too if they ask when all have come", async () => {
    const world = await guarded();
    const connected: Promise<unknown>[] = [];
    const asking: (() => void)[] = [];
    const answers: string[] = [];
    const told = crowd(world, 4 * ROOM, "GET /slow", (socket, head) => {
      connected.push(once(socket, "connect"));
      asking.push(() => socket.write(head));
    });
    for (const one of told) void one.then((answer) => answers.push(answer));
    await Promise.all(connected);
    await passes(world);
    for (const ask of asking) ask();
    await expect.poll(() => answers.length + world.server.openRequestCount).toBe(4 * ROOM);
    expect(Object.keys(counted(answers))).toEqual(["503"]);
  });
});

import { once } from "node:events";
import type { Socket } from "node:net";
import { expect } from "vitest";
import { events, json } from "./answer.ts";
import { BY_NAME, headOf, type Sender, sendAs, socketFrom } from "./callers.fixture.ts";
import { type Route, route } from "./route.ts";
import { closeServers, type ServerWorld, serve, UNDESCRIBED } from "./server.fixture.ts";

const open: Socket[] = [];

/** For `afterEach`: closes all that a test has opened. */
export async function closeCrowd(): Promise<void> {
  for (const socket of open.splice(0)) socket.destroy();
  await closeServers();
}

export const MAX = 32;

/** A stream without events, which stays. */
const stream = route({
  method: "GET",
  path: "/stream",
  about: UNDESCRIBED,
  needs: null,
  async handle() {
    const { promise, resolve } = Promise.withResolvers<{ done: true; value: undefined }>();
    const end = () => resolve({ done: true, value: undefined });
    return events({ next: () => promise, cancel: end, end }, null);
  },
});

const quick = route({
  method: "POST",
  path: "/quick",
  about: UNDESCRIBED,
  needs: null,
  handle: async () => json(200, {}),
});

/** Answers when its client leaves. */
const slow = route({
  method: "GET",
  path: "/slow",
  about: UNDESCRIBED,
  needs: null,
  async handle({ signal }) {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return json(200, {});
  },
});

/** Open on every server, as the one that takes the code of an invitation. */
const code = route({
  method: "POST",
  path: "/code",
  about: UNDESCRIBED,
  gate: "open",
  needs: null,
  takesCode: true,
  handle: async () => json(200, {}),
});

export const ROUTES = [stream, quick, slow, code];
export const QUIET = { token: "quiet/q", from: "127.0.9.1" };
const OPERATOR = { token: "operator", from: "127.0.9.2" };

/** A server with few connections, and with these routes too. */
export function guarded(...routes: readonly Route[]): Promise<ServerWorld> {
  const options = { maxConnections: MAX };
  return serve([...ROUTES, ...routes], options, { authenticator: BY_NAME });
}

/** For a socket that a test leaves open. */
export function keep(socket: Socket): Socket {
  open.push(socket.on("error", () => {}));
  return socket;
}

export async function idle(world: ServerWorld, from: string): Promise<Socket> {
  const socket = keep(socketFrom(world, from));
  await once(socket, "connect");
  return socket;
}

/** Sends a request, and returns the socket with the status of the answer. */
export async function ask(world: ServerWorld, line: string, sender: Sender) {
  const socket = keep(socketFrom(world, sender.from));
  socket.write(headOf(world, line, sender));
  const [chunk] = await once(socket, "data");
  return { socket, status: Number(String(chunk).slice(9, 12)), said: String(chunk) };
}

/** A quiet tenant, the operator and `/health` are served. */
export async function passes(world: ServerWorld) {
  const [health, quiet, operator] = await Promise.all([
    sendAs(world, { from: "127.0.9.3" }, "GET", "/health"),
    sendAs(world, QUIET, "POST", "/quick", "{}"),
    sendAs(world, OPERATOR, "POST", "/quick", "{}"),
  ]);
  expect([health.status, quiet.status, operator.status]).toEqual([200, 200, 200]);
}

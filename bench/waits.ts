import { Agent, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { ServerHome, type ServerProcess } from "./wire-process.ts";

/** How many wait, and how many ask. */
export interface WaitsScale {
  readonly waiters: number;
  /** Sessions that there are, and calls for a page of them each minute. */
  readonly sessions: number;
  readonly callsEachMinute: number;
  /** How long each is looked at. */
  readonly ms: number;
  readonly server: "built" | "at hand";
}

export const WAITS_FULL: WaitsScale = {
  waiters: 1_000,
  sessions: 1_000,
  callsEachMinute: 10_000,
  ms: 10_000,
  server: "built",
};

export const WAITS_TINY: WaitsScale = {
  waiters: 5,
  sessions: 3,
  callsEachMinute: 600,
  ms: 500,
  server: "at hand",
};

/** What a server has used since its start, and holds now. */
export interface ServerUse {
  readonly cpuMs: number;
  readonly bytes: number;
}

/** What clients cost that wait for a verdict, and those that ask for lists again and again. */
export interface WaitsReport {
  readonly scale: WaitsScale;
  /** Of one core, in percent: a server that nothing is asked of, and one in which all wait. */
  readonly idlePercent: number;
  readonly waitingPercent: number;
  readonly kibEachWait: number;
  /** For each wait, from its request to its answer. */
  readonly cpuMsEachWait: number;
  readonly listPercent: number;
  readonly cpuMsEachList: number;
}

export async function waits(scale: WaitsScale): Promise<WaitsReport> {
  const home = new ServerHome(scale);
  await home.open();
  const probe = new URL("waits-probe.ts", import.meta.url);
  const server = await home.startProbed(probe);
  const client = new WaitsClient(server.port);
  try {
    const held = await client.sessions(scale.sessions);
    const idle = await during(server, () => pause(scale.ms));
    const { promptId } = await client.call("POST", `/session/${held}/prompt`, say("sleep 120000"));
    const path = `/session/${held}/turns/${promptId}?wait=120s`;
    const before = await useOf(server);
    const answers = Array.from({ length: scale.waiters }, () => client.call("GET", path));
    await client.sent(scale.waiters);
    await pause(scale.ms / 2);
    const all = await useOf(server);
    const waiting = await during(server, () => pause(scale.ms));
    await client.call("POST", `/session/${held}/cancel`, {});
    await Promise.all(answers);
    const after = await useOf(server);
    const lists = await during(server, () => client.lists(scale));
    const calls = (scale.callsEachMinute * scale.ms) / 60_000;
    const idlePercent = percent(idle, scale.ms);
    return {
      scale,
      idlePercent,
      waitingPercent: percent(waiting, scale.ms),
      kibEachWait: (all.bytes - before.bytes) / scale.waiters / 1_024,
      cpuMsEachWait: (after.cpuMs - before.cpuMs - waiting) / scale.waiters,
      listPercent: percent(lists, scale.ms),
      cpuMsEachList: (lists - idle) / calls,
    };
  } finally {
    client.end();
    await server.end("SIGKILL");
    await home.close();
  }
}

function say(text: string) {
  return { prompt: [{ type: "text", text }] };
}

function useOf(server: ServerProcess): Promise<ServerUse> {
  return server.ask<ServerUse>("use");
}

/** The CPU time that the server uses meanwhile. */
async function during(server: ServerProcess, work: () => Promise<unknown>): Promise<number> {
  const before = await useOf(server);
  await work();
  return (await useOf(server)).cpuMs - before.cpuMs;
}

function percent(cpuMs: number, ms: number): number {
  return (100 * cpuMs) / ms;
}

/** Requests over as many connections as there are requests at a time. */
class WaitsClient {
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true });
  #sent = 0;

  constructor(port: number) {
    this.#port = port;
  }

  /** Makes so many sessions, and resolves with the id of the last. */
  async sessions(count: number): Promise<string> {
    let last = "";
    for (let n = 0; n < count; n += 1) {
      const fields = { agent: "echo-many", sessionScope: "thread" };
      const made = await this.call("POST", "/session", fields);
      last = String(made.sessionId);
    }
    return last;
  }

  /** Asks for pages at an even pace. */
  async lists({ callsEachMinute, ms }: WaitsScale): Promise<void> {
    const untilMs = performance.now() + ms;
    const answers: Promise<unknown>[] = [];
    for (let n = 0; performance.now() < untilMs; n += 1) {
      answers.push(this.call("GET", "/sessions?size=20"));
      const nextMs = untilMs - ms + ((n + 1) * 60_000) / callsEachMinute;
      await pause(Math.max(0, nextMs - performance.now()));
    }
    await Promise.all(answers);
  }

  /** Resolves when so many requests have left. */
  async sent(count: number): Promise<void> {
    while (this.#sent < count) await pause(10);
  }

  call(method: string, path: string, body?: object): Promise<Readonly<Record<string, unknown>>> {
    const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown>>();
    const options = { port: this.#port, host: "127.0.0.1", method, path, agent: this.#agent };
    const headers = { "content-type": "application/json" };
    const asked = request({ ...options, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("end", () => {
        const isFine = (response.statusCode ?? 500) < 300;
        if (isFine) resolve(JSON.parse(text === "" ? "{}" : text));
        else reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`));
      });
    });
    asked.on("error", reject).on("finish", () => {
      this.#sent += 1;
    });
    asked.end(body === undefined ? undefined : JSON.stringify(body));
    return promise;
  }

  end() {
    this.#agent.destroy();
  }
}

export function waitsTable(report: WaitsReport): string {
  const { waiters, sessions, callsEachMinute } = report.scale;
  const figure = (value: number, unit: string) => `${value.toFixed(2)} ${unit}`;
  const rows = [
    ["a server of which nothing is asked", figure(report.idlePercent, "% of a core")],
    [`${waiters} requests that wait`, figure(report.waitingPercent, "% of a core")],
    ["memory of each", figure(report.kibEachWait, "KiB resident")],
    ["CPU time of each, with its answer", figure(report.cpuMsEachWait, "ms")],
    [
      `${callsEachMinute} pages of ${sessions} sessions a minute`,
      figure(report.listPercent, "% of a core"),
    ],
    ["CPU time of each", figure(report.cpuMsEachList, "ms")],
  ];
  return rows.map(([what = "", value = ""]) => `${what.padEnd(48)}${value}`).join("\n");
}

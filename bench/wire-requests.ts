import { Latencies, type Trial } from "./trial.ts";
import { FRAME_BYTES } from "./wire-bare.ts";
import { hangUp, post, StreamReader } from "./wire-client.ts";
import { ServerHome, type ServerProcess, startBare } from "./wire-process.ts";
import type { WireScale } from "./wire-scale.ts";

/** As counted on the wire: the frames of a short turn of echo. */
const TURN_FRAMES = 11;
const CHUNK_BYTES = 100;

/** A session of a server, as one client has it that listens. */
interface AttachedClient {
  readonly sessionId: string;
  readonly clientId: string;
  readonly reader: StreamReader;
}

/** A server of ours and a bare one, each a process of its own. */
class Pair {
  readonly #home: ServerHome;
  readonly #running: ServerProcess[] = [];
  readonly #readers: StreamReader[] = [];
  ours = 0;
  bare = 0;

  constructor(scale: WireScale) {
    this.#home = new ServerHome(scale);
  }

  async open(): Promise<void> {
    await this.#home.open();
    const ours = await this.#home.start("--agent", "echo-many");
    this.#running.push(ours);
    const bare = await startBare();
    this.#running.push(bare);
    [this.ours, this.bare] = [ours.port, bare.port];
  }

  async close(): Promise<void> {
    for (const reader of this.#readers.splice(0)) reader.leave();
    hangUp();
    for (const server of this.#running.splice(0)) await server.end("SIGTERM", "SIGINT");
    await this.#home.close();
  }

  /** Makes a session without other clients. */
  create() {
    return post(this.ours, "/session", { sessionScope: "thread" });
  }

  async attach(): Promise<AttachedClient> {
    const { body } = await this.create();
    const [sessionId, clientId] = [String(body.sessionId), String(body.clientId)];
    return { sessionId, clientId, reader: await this.listen(sessionId) };
  }

  async listen(sessionId: string): Promise<StreamReader> {
    return this.#kept(await StreamReader.open(this.ours, `/session/${sessionId}/events`));
  }

  async listenBare(path: string): Promise<StreamReader> {
    return this.#kept(await StreamReader.open(this.bare, path));
  }

  #kept(reader: StreamReader): StreamReader {
    this.#readers.push(reader);
    return reader;
  }

  prompt({ sessionId, clientId }: AttachedClient, script: string) {
    const body = { prompt: [{ type: "text", text: script }] };
    return post(this.ours, `/session/${sessionId}/prompt`, body, clientId);
  }

  /** The same for the bare one: an answer, and so many frames in the stream of this path. */
  postBare(path: string, frames: number) {
    return post(this.bare, `${path}?frames=${frames}&bytes=${FRAME_BYTES}`, { prompt: "x" });
  }
}

/** One request and its answer, against the same from a server that does nothing. */
function requestTrial(
  scale: WireScale,
  name: string,
  ask: (pair: Pair) => Promise<unknown>,
  ready: (pair: Pair) => Promise<unknown> = async () => {},
): Trial {
  const pair = new Pair(scale);
  const [ours, bare] = [new Latencies("ours"), new Latencies("bare")];
  return {
    name,
    async prepare() {
      await pair.open();
      await ready(pair);
    },
    clear: () => pair.close(),
    floor: {
      name: "bare POST",
      async run() {
        await bare.of(() => pair.postBare("/nobody", 0));
        return 1;
      },
    },
    subject: {
      name: "fermata",
      async run() {
        await ours.of(() => ask(pair));
        return 1;
      },
    },
    figures: () => ({ ...ours.figures, ...bare.figures }),
  };
}

function promptTrial(scale: WireScale): Trial {
  const pair = new Pair(scale);
  const toAnswer = new Latencies("to 202");
  const toEvent = new Latencies("to the first event");
  const toVerdict = new Latencies("to the verdict");
  let client: AttachedClient | null = null;
  let bareReader: StreamReader | null = null;
  const turn = async (reader: StreamReader | null, say: () => Promise<unknown>) => {
    const times = [
      toEvent.of(async () => reader?.received("\nid: ")),
      toVerdict.of(async () => reader?.received("event: turn_complete")),
    ];
    await toAnswer.of(say);
    await Promise.all(times);
    return 1;
  };
  return {
    name: "one prompt, to its verdict",
    async prepare() {
      await pair.open();
      client = await pair.attach();
      bareReader = await pair.listenBare("/turn");
    },
    clear: () => pair.close(),
    floor: {
      name: `bare POST and ${TURN_FRAMES} frames`,
      async run() {
        const received = bareReader?.received("event: turn_complete");
        await pair.postBare("/turn", TURN_FRAMES);
        await received;
        return 1;
      },
    },
    subject: {
      name: "echo's turn",
      async run() {
        const own = client;
        return own === null ? 0 : turn(own.reader, () => pair.prompt(own, "say hello"));
      },
    },
    figures: () => ({ ...toAnswer.figures, ...toEvent.figures, ...toVerdict.figures }),
  };
}

/** A turn that streams, from the agent's process over the disk to the client. */
function streamTrial(scale: WireScale): Trial {
  const pair = new Pair(scale);
  const { events } = scale;
  let client: AttachedClient | null = null;
  let bareReader: StreamReader | null = null;
  return {
    name: `one stream of ${events} events`,
    async prepare() {
      await pair.open();
      client = await pair.attach();
      bareReader = await pair.listenBare("/turn");
    },
    clear: () => pair.close(),
    floor: {
      name: "bare frames, a write each",
      async run() {
        const received = bareReader?.received("event: turn_complete");
        await pair.postBare("/turn", events);
        await received;
        return events;
      },
    },
    subject: {
      name: "echo's chunks",
      async run() {
        const received = client?.reader.received("event: turn_complete");
        if (client !== null) await pair.prompt(client, `chunks ${events} ${CHUNK_BYTES}`);
        await received;
        return events;
      },
    },
  };
}

/** A client reconnects that has missed so much of a log. */
function reconnectTrial(scale: WireScale): Trial {
  const pair = new Pair(scale);
  const { missed } = scale;
  const back = new Latencies("to the end of the replay");
  let sessionId = "";
  let after = 0;
  const until = "event: replay_complete";
  return {
    name: `reconnect, ${missed} events behind`,
    async prepare() {
      await pair.open();
      const client = await pair.attach();
      const received = client.reader.received("event: turn_complete");
      await pair.prompt(client, `chunks ${missed + 100} ${CHUNK_BYTES}`);
      await received;
      sessionId = client.sessionId;
      after = client.reader.lastId - missed;
    },
    clear: () => pair.close(),
    floor: {
      name: "bare, from memory in one write",
      async run() {
        const path = `/back?frames=${missed}&bytes=${FRAME_BYTES}`;
        (await StreamReader.open(pair.bare, path, { until })).leave();
        return 1;
      },
    },
    subject: {
      name: "fermata",
      async run() {
        const headers = [`Last-Event-ID: ${after}`];
        const path = `/session/${sessionId}/events`;
        (await back.of(() => StreamReader.open(pair.ours, path, { headers, until }))).leave();
        return 1;
      },
    },
    figures: () => back.figures,
  };
}

/** Many sessions whose clients all press Enter in the same moment. */
function atOnceTrial(scale: WireScale): Trial {
  const pair = new Pair(scale);
  const { atOnce } = scale;
  const attached: AttachedClient[] = [];
  const bareReaders: StreamReader[] = [];
  const last = new Latencies("to the last verdict");
  return {
    name: `${atOnce} sessions begin a turn at once`,
    async prepare() {
      await pair.open();
      for (let n = 0; n < atOnce; n += 1) {
        attached.push(await pair.attach());
        bareReaders.push(await pair.listenBare(`/turn-${n}`));
      }
    },
    clear: () => pair.close(),
    floor: {
      name: `bare POST and ${TURN_FRAMES} frames`,
      async run() {
        const received = bareReaders.map((reader) => reader.received("event: turn_complete"));
        await Promise.all(bareReaders.map((_, n) => pair.postBare(`/turn-${n}`, TURN_FRAMES)));
        await Promise.all(received);
        return atOnce;
      },
    },
    subject: {
      name: "echo's turns",
      run: () =>
        last.of(async () => {
          const received = attached.map(({ reader }) => reader.received("event: turn_complete"));
          await Promise.all(attached.map((client) => pair.prompt(client, "say hello")));
          await Promise.all(received);
          return atOnce;
        }),
    },
    figures: () => last.figures,
  };
}

export function requestTrials(scale: WireScale): readonly Trial[] {
  const attach = (pair: Pair) => post(pair.ours, "/session", {}, "client_bench");
  return [
    requestTrial(
      scale,
      "create a session",
      (pair) => pair.create(),
      (pair) => pair.create(),
    ),
    requestTrial(scale, "attach to a live session", attach, attach),
    promptTrial(scale),
    streamTrial(scale),
    reconnectTrial(scale),
    atOnceTrial(scale),
  ];
}

import { spawn } from "node:child_process";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import type { RelayReport } from "./path-report.ts";
import { rawDatabase } from "./raw-database.ts";
import { STREAMING_AGENT } from "./wire-process.ts";

// The least that any server has to do with a turn that is seen only when it is durable: each line
// of the agent is parsed, numbered and written as JSON once, a thread commits what has come with
// fsync, and only then it goes to the streams; at the end the turn's text is kept, too. It has one
// session, and no limits, checks, secrets, clients or failures. As a program, with a folder for its
// database, it prints its address.

interface AgentLine {
  readonly id?: number;
  readonly params?: { readonly update?: { readonly content?: { readonly text?: string } } };
}

/** An event, with its text as it is stored and sent. */
interface Written {
  readonly id: number;
  readonly type: string;
  readonly text: string;
}

const SESSION = "8b1f42a7-54c8-4f0e-9f5e-0b9f5e3c7d21";
const PROMPT = "5d3a77c2-1c1b-4e5f-8f7a-2e9a64d0b8c4";

class LeastRelay {
  readonly #agent = spawn(process.execPath, [STREAMING_AGENT], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  readonly #decoder = new StringDecoder("utf8");
  readonly #streams: ServerResponse[] = [];
  readonly #store: Worker;
  #line = "";
  #lastId = 0;
  #said: string[] = [];
  #waiting: Written[] = [];
  #committing: readonly Written[] = [];

  constructor(folder: string) {
    this.#store = new Worker(new URL(import.meta.url), { workerData: folder });
    this.#store.on("message", () => this.#publish());
    this.#agent.stdout.on("data", (piece) => this.#read(this.#decoder.write(piece)));
  }

  async listen(): Promise<number> {
    const server = createServer((incoming, response) => {
      if (incoming.method === "POST") {
        let body = "";
        incoming.setEncoding("utf8").on("data", (text) => {
          body += text;
        });
        incoming.on("end", () => {
          this.#prompt(JSON.parse(body).prompt);
          response.end("{}");
        });
        return;
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("retry: 3000\n\n");
      this.#streams.push(response);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return (server.address() as AddressInfo).port;
  }

  #prompt(prompt: unknown) {
    const params = { sessionId: SESSION, prompt };
    this.#agent.stdin.write(`${JSON.stringify({ id: 1, method: "session/prompt", params })}\n`);
  }

  #read(piece: string) {
    const lines = (this.#line + piece).split("\n");
    this.#line = lines.pop() ?? "";
    for (const line of lines) {
      const { id, params }: AgentLine = JSON.parse(line);
      if (id === undefined) this.#said.push(params?.update?.content?.text ?? "");
      const type = id === undefined ? "session_update" : "turn_complete";
      this.#add(type, { sessionId: SESSION, update: params?.update });
    }
    this.#commit();
  }

  #add(type: string, data: object) {
    this.#lastId += 1;
    const envelope = { id: this.#lastId, v: 1, type, data, promptId: PROMPT };
    const _meta = { serverTimestamp: Date.now() };
    const text = JSON.stringify({ ...envelope, originatorClientId: `client_${PROMPT}`, _meta });
    this.#waiting.push({ id: this.#lastId, type, text });
  }

  /** What comes during a commit goes together into the next one. */
  #commit() {
    if (this.#committing.length > 0 || this.#waiting.length === 0) return;
    this.#committing = this.#waiting;
    this.#waiting = [];
    const isEnd = this.#committing.at(-1)?.type === "turn_complete";
    const said = isEnd ? this.#said.splice(0).join("") : null;
    this.#store.postMessage({ texts: this.#committing.map(({ text }) => text), said });
  }

  #publish() {
    const frames = this.#committing.map(({ id, type, text }) => {
      return `id: ${id}\nevent: ${type}\ndata: ${text}\n\n`;
    });
    const bytes = Buffer.from(frames.join(""));
    for (const stream of this.#streams) stream.write(bytes);
    this.#committing = [];
    this.#commit();
  }
}

/** The thread: what comes in one message is one commit. */
function store(folder: string) {
  const db = rawDatabase(join(folder, "raw.db"));
  const insert = db.prepare("INSERT INTO events VALUES (1, ?, ?)");
  let rows = 0;
  const commit = db.transaction((texts: readonly string[], said: string | null) => {
    insert.run(++rows, texts.join(""));
    // As a folded turn, and as a message.
    for (const text of said === null ? [] : [said, said]) insert.run(++rows, text);
  });
  parentPort?.on("message", ({ texts, said }) => {
    commit(texts, said);
    parentPort?.postMessage(null);
  });
}

/** What the process has used since the last question. */
function answerQuestions() {
  let [all, main] = [process.cpuUsage(), process.threadCpuUsage()];
  process.on("message", () => {
    const used = [process.cpuUsage(all), process.threadCpuUsage(main)] as const;
    [all, main] = [process.cpuUsage(), process.threadCpuUsage()];
    const [cpuUs = 0, mainUs = 0] = used.map(({ user, system }) => user + system);
    process.send?.({ cpuUs, mainUs } satisfies RelayReport);
  });
}

if (!isMainThread) store(workerData);
else if (import.meta.main) {
  answerQuestions();
  const relay = new LeastRelay(process.argv[2] ?? "");
  console.log(`listening on http://127.0.0.1:${await relay.listen()}`);
}

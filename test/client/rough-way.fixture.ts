import { connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** The way to a server, on which connections break when a test says so. */
export class RoughWay {
  readonly #sockets = new Set<Socket>();
  readonly #onTheWay = new WeakMap<Socket, Promise<void>>();
  /** After how many bytes of answers the next connections are cut, one for each. */
  readonly cuts: number[] = [];
  isClosed = false;
  /** Every byte of an answer comes by itself. */
  isSlow = false;
  url = "";

  static async to(port: number): Promise<RoughWay> {
    const way = new RoughWay();
    const server = createServer((near) => {
      if (way.isClosed) return void near.destroy();
      const far = connect(port, "127.0.0.1");
      for (const socket of [near, far]) {
        way.#sockets.add(socket);
        socket.on("error", () => {});
        socket.once("close", () => {
          way.#sockets.delete(socket);
          near.destroy();
          far.destroy();
        });
      }
      near.setNoDelay().on("data", (bytes: Buffer) => far.write(addressed(bytes, port)));
      near.once("end", () => far.end());
      far.on("data", (bytes: Buffer) => way.#pass(bytes, near));
      far.once("end", () => (way.#onTheWay.get(near) ?? Promise.resolve()).then(() => near.end()));
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    const address = server.address();
    way.url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
    onTestFinished(() => {
      way.breakAll();
      server.close();
    });
    return way;
  }

  /** All connections that there are. */
  breakAll() {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** In order, also with the bytes that come meanwhile. */
  #slowly(bytes: Buffer, near: Socket) {
    const before = this.#onTheWay.get(near) ?? Promise.resolve();
    const sent = before.then(async () => {
      for (const byte of bytes) {
        near.write(Buffer.of(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    this.#onTheWay.set(near, sent);
  }

  #pass(bytes: Buffer, near: Socket) {
    const [left] = this.cuts;
    if (this.isSlow) return void this.#slowly(bytes, near);
    if (left === undefined) return void near.write(bytes);
    near.write(bytes.subarray(0, left));
    if (bytes.length < left) {
      this.cuts[0] = left - bytes.length;
      return;
    }
    this.cuts.shift();
    // What was written is on its way before the end.
    near.end(() => near.destroy());
  }
}

/** The server takes only requests to its own address. */
function addressed(bytes: Buffer, port: number): Buffer {
  const text = bytes.toString("latin1");
  return Buffer.from(text.replace(/^host: [^\r]*/im, `host: 127.0.0.1:${port}`), "latin1");
}

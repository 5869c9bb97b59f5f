import { once } from "node:events";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { refusal } from "../../core/error.ts";
import { SERVER_NAME } from "../../server/http/answer.ts";
import { Listener } from "../../server/http/listener.ts";
import { withPortOwner } from "./port-owner.ts";

/** The reason of a second server that wants the same port. */
async function reasonBeside(first: Server, msMax?: number): Promise<string> {
  first.listen(0, "127.0.0.1");
  onTestFinished(() => void first.close());
  await once(first, "listening");
  const { port } = first.address() as AddressInfo;
  const options = { hostname: "127.0.0.1", port, maxConnections: 1, tls: null };
  const listened = await new Listener(options, () => {}).listen();
  if (listened.ok) expect.fail("both have the port");
  return String((await withPortOwner(listened.refusal, msMax)).details.reason);
}

const answering = (answer: RequestListener) => reasonBeside(createHttpServer(answer));

// Where the system tells it, as on Linux, the process is named: here it is the one of the test.
const PID = process.platform === "linux" ? `[( ]pid ${process.pid}\\)` : "";
const STOP = process.platform === "linux" ? `stop it \\(kill ${process.pid}\\)` : "stop it";

describe("a port in use", () => {
  it("by another fermata is told so", async () => {
    const reason = await answering((_, response) => {
      response.setHeader("Server", SERVER_NAME).end('{"status":"ok"}');
    });
    expect(reason).toMatch(/^the port is in use by another fermata/);
    expect(reason).toMatch(new RegExp(`${PID}; use that one, ${STOP}, or take a free port`));
    expect(reason).toContain("--port 0");
  });

  it("by a server of the same kind, which has the same default port, is told so", async () => {
    const reason = await answering((_, response) => response.end('{"status":"ok"}'));
    expect(reason).toMatch(/in use by a server that speaks as fermata does, such as qwen serve/);
  });

  it("by any other web server is told with its process", async () => {
    const reason = await answering((_, response) => void response.writeHead(404).end("<html>"));
    expect(reason).toMatch(new RegExp(`in use by another program.*${PID}; ${STOP}`));
  });

  it("P10: by a program that never answers is told in a limited time", async () => {
    const silent = createServer((socket) => socket.on("error", () => {}));
    expect(await reasonBeside(silent, 300)).toMatch(/in use by another program/);
  });
});

it("a refusal for another reason stays as it is", async () => {
  const other = refusal("listen_failed", { address: "127.0.0.1:80", reason: "x", cause: "EACCES" });
  expect(await withPortOwner(other)).toEqual(other);
});

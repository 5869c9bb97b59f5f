import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { onTestFinished } from "vitest";

/** One answer of a server that is none: its status, headers, and text. */
export interface PlayedAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly text?: string;
  /** Keeps the connection open behind the text. */
  readonly stays?: boolean;
}

/** A server that answers what a test says, to each request by its number for that path. */
export async function playedServer(
  play: (path: string, count: number, request: IncomingMessage) => PlayedAnswer,
): Promise<{ readonly url: string; readonly asked: string[] }> {
  const asked: string[] = [];
  const open = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    const path = `${request.method} ${request.url}`;
    asked.push(path);
    const count = asked.filter((one) => one === path).length;
    const { status = 200, headers = {}, text = "{}", stays = false } = play(path, count, request);
    const usual = { "content-type": "application/json" };
    response.writeHead(status, { ...usual, ...headers });
    open.add(response);
    if (stays) response.write(text);
    else response.end(text);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => {
    for (const response of open) response.destroy();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  return { url: `http://127.0.0.1:${port}`, asked };
}

/** The bytes of a stream with these envelopes. */
export function streamOf(...envelopes: readonly object[]): PlayedAnswer {
  const text = envelopes.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");
  const headers = { "content-type": "text/event-stream", "x-qwen-event-epoch": "e1" };
  return { headers, text, stays: true };
}

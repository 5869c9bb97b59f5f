import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect } from "vitest";
import type { JsonObject } from "../../src/core/json.ts";
import { ENTRY } from "./program.fixture.ts";
import { ServeProcess } from "./serve.fixture.ts";

const AGENT = fileURLToPath(new URL("key-agent.fixture.ts", import.meta.url));

/** How an agent of `key-agent.fixture.ts` describes itself. */
interface Described {
  readonly pid: number;
  readonly key: string;
  readonly home: string;
}

/** A server whose agent needs the secret MODEL_KEY, with folders of secrets and of homes. */
export class KeyedServer {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), "fermata-keys-")));
  readonly secrets = join(this.folder, "secrets");
  readonly homes = join(this.folder, "homes");
  #server: ServeProcess | null = null;

  /** With these secrets in its folder, and this in its environment. */
  static async start(
    files: Readonly<Record<string, string>>,
    { env = {}, token = true }: { env?: Readonly<Record<string, string>>; token?: boolean } = {},
  ): Promise<KeyedServer> {
    const keyed = new KeyedServer();
    mkdirSync(keyed.secrets);
    for (const [path, value] of Object.entries(files)) keyed.put(path, value);
    const variables = { AGENT_KEY: { secret: "MODEL_KEY" } };
    keyed.#server = await ServeProcess.start({
      env,
      flags: [
        ...["--agent", "keyed", "--tenant-credits", "unlimited"],
        ...(token ? ["--token", "the-operators-own"] : []),
        ...["--secrets-dir", keyed.secrets, "--agent-homes", keyed.homes],
      ],
      agents: {
        keyed: {
          command: process.execPath,
          args: [AGENT],
          env: variables,
          home: "AGENT_HOME",
          ask: "default",
        },
        // It is never started: its secret is known all the same.
        unused: { command: "unused", env: { UNUSED_KEY: { from: "UNUSED_KEY" } } },
      },
    });
    return keyed;
  }

  get server(): ServeProcess {
    return this.#server ?? expect.fail("there is no server");
  }

  /** Writes a secret, with the newline that editors leave. */
  put(path: string, value: string) {
    const file = join(this.secrets, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${value}\n`, { mode: 0o600 });
  }

  /** The caller of a server without tokens. */
  get local(): KeyedUser {
    return new KeyedUser(this.server, null);
  }

  async user(tenant: string, user: string): Promise<KeyedUser> {
    const who = ["--tenant", tenant, "--user", user, "--role", "owner"];
    const args = [ENTRY, "tokens", "create", ...who, "--data", this.server.data];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    return new KeyedUser(this.server, stdout.trim());
  }

  async end(): Promise<void> {
    await this.#server?.end();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A user of that server, with a token of their own. */
export class KeyedUser {
  readonly #server: ServeProcess;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(server: ServeProcess, token: string | null) {
    this.#server = server;
    const authorized = token === null ? {} : { authorization: `Bearer ${token}` };
    this.#headers = { ...authorized, "content-type": "application/json" };
  }

  async ask(method: string, path: string, body?: object) {
    const response = await fetch(`${this.#server.url}${path}`, {
      method,
      headers: this.#headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const answer: JsonObject = text === "" ? {} : JSON.parse(text);
    return { status: response.status, body: answer };
  }

  create() {
    return this.ask("POST", "/session", { sessionScope: "thread" });
  }

  async session(): Promise<string> {
    const { status, body } = await this.create();
    expect(body).toMatchObject({ sessionId: expect.any(String) });
    expect(status).toBe(200);
    return `/session/${body.sessionId}`;
  }

  /** What the agent answers to this in a session. */
  async said(session: string, text: string): Promise<string> {
    return String((await this.turn(session, text, "completed")).resultText);
  }

  /** A turn that ends so. */
  async turn(session: string, text: string, state: string): Promise<JsonObject> {
    const prompt = [{ type: "text", text }];
    const { body } = await this.ask("POST", `${session}/prompt`, { prompt });
    const turn = async () => (await this.ask("GET", `${session}/turns/${body.promptId}`)).body;
    await expect.poll(async () => (await turn()).state, { timeout: 20_000 }).toBe(state);
    return turn();
  }

  /** All events of a session, up to where these words stand. */
  async heard(session: string, words: string): Promise<string> {
    const headers = { ...this.#headers, "last-event-id": "0" };
    const response = await fetch(`${this.#server.url}${session}/events`, { headers });
    let text = "";
    for await (const bytes of response.body ?? []) {
      text += Buffer.from(bytes).toString();
      if (text.includes(words)) return text;
    }
    return expect.fail(`the stream ended before ${words}`);
  }

  /** The agent of a new session. */
  async agent(): Promise<Described> {
    return JSON.parse(await this.said(await this.session(), "describe"));
  }
}

export function hashOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

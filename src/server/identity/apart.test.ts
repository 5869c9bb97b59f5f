import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Called } from "../daemon.fixture.ts";
import { IDLE } from "../http/server.fixture.ts";
import { StreamClient } from "../http/stream-client.fixture.ts";
import { allRoutes } from "../route/all-routes.ts";
import { heard } from "../route/work.fixture.ts";
import { tenant } from "./identity.fixture.ts";
import { People, type Person } from "./people.fixture.ts";

/** What a request needs in its body to come as far as looking for what it names. */
const BODIES: Readonly<Record<string, object>> = {
  "/session/:id/prompt": { prompt: [{ type: "text", text: "say hi" }] },
  "/session/:id/agent": { agent: "echo" },
  "/session/:id/model": { modelId: "echo" },
  "/session/:id/approval-mode": { mode: "default" },
  "/session/:id/autonomy": { profile: "manual" },
  "/session/:id/agent-mode": { mode: "plan" },
  "/session/:id/sandbox": { state: "none" },
  "/session/:id/metadata": { displayName: "mine" },
  "/session/:id/btw": { question: "what?" },
  "/session/:id/shell": { command: "true" },
  "/session/:id/mid-turn-message": { message: "go on" },
  "/session/:id/permission/:requestId": { outcome: { outcome: "cancelled" } },
  "/permission/:requestId": { outcome: { outcome: "cancelled" } },
  "/credits/budgets/:scope": { budgetMicro: 5 },
  "/members/:user": { role: "viewer" },
};

/** The names of things that there are, or of things that there are not. */
interface Names {
  readonly sessionId: string;
  readonly promptId: string;
  readonly requestId: string;
  readonly messageId: string;
  readonly tokenId: string;
  readonly user: string;
  readonly workspace: string;
  readonly clientId: string;
}

/** All that can differ between two answers, but for the names that were sent and the time. */
function seen({ status, headers, text }: Called, names: Names) {
  const { date: _, "x-request-id": __, ...rest } = headers;
  let body = text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>");
  for (const [what, name] of Object.entries(names)) body = body.replaceAll(name, `<${what}>`);
  return { status, headers: rest, body };
}

function pathOf(path: string, names: Names): string {
  const isToken = path.startsWith("/tokens/");
  const isWorkspace = path.startsWith("/workspace/");
  const id = isToken ? names.tokenId : isWorkspace ? names.workspace : names.sessionId;
  return path
    .replace(":workspace", names.workspace)
    .replace(":id", id)
    .replace(":promptId", names.promptId)
    .replace(":requestId", names.requestId)
    .replace(":messageId", names.messageId)
    .replace(":taskId", names.promptId)
    .replace(":scope", `session:${names.sessionId}`)
    .replace(":key", "execute")
    .replace(":name", "echo")
    .replace(":user", names.user);
}

async function open() {
  const settings = { token: "unused", enableShell: true };
  const people = await People.open({ settings });
  const ada = await people.person("adaada", "owner");
  const stranger = await people.person("stranger", "owner", tenant("other"));
  return { people, ada, stranger, names: await things(people, ada) };
}

/** Ada has a session that waits for a vote, with another prompt behind it, and a workspace. */
async function things(people: People, ada: Person): Promise<Names> {
  const cwd = join(people.world.stage.folder, "hers");
  mkdirSync(cwd);
  const added = await ada.call("POST", "/workspaces", { body: { cwd } });
  const body = { sessionScope: "thread", cwd };
  const made = await ada.call("POST", "/session", { body, clientId: "adas-client" });
  const sessionId = String(made.body.sessionId);
  const prompt = (text: string) =>
    ada.call("POST", `/session/${sessionId}/prompt`, {
      body: { prompt: [{ type: "text", text }] },
      clientId: "adas-client",
    });
  const stream = await StreamClient.open(people.world, `/session/${sessionId}/events`, ada.headers);
  await prompt("ask");
  const request = await heard(stream, "permission_request");
  const later = await prompt("say later");
  const message = { message: "psst", id: "adas-message" };
  await ada.call("POST", `/session/${sessionId}/mid-turn-message`, { body: message });
  return {
    sessionId,
    promptId: String(later.body.promptId),
    requestId: String(request.data.data.requestId),
    messageId: "adas-message",
    tokenId: ada.tokenId,
    user: "adaada",
    workspace: String(added.body.id),
    clientId: "adas-client",
  };
}

/** As long as those that there are, so that lengths tell nothing either. */
function unknown(names: Names): Names {
  const same = (name: string) => name.replaceAll(/[a-z0-9]/g, "e");
  return {
    sessionId: randomUUID(),
    promptId: randomUUID(),
    requestId: randomUUID(),
    messageId: same(names.messageId),
    tokenId: same(names.tokenId),
    user: same(names.user),
    workspace: `ws_${"e".repeat(names.workspace.length - 3)}`,
    clientId: same(names.clientId),
  };
}

describe("P8: what is another tenant's", () => {
  it("is answered byte for byte like what is not there, on every route", async () => {
    const { people, stranger, names } = await open();
    const none = unknown(names);
    const { routes } = allRoutes(people.world.daemon, "0", async () => IDLE);
    const named = routes.filter(({ path }) => path.includes(":"));
    expect(named.length).toBeGreaterThan(45);
    const others: string[] = [];
    const unread: string[] = [];
    for (const { method, path, clientId } of named) {
      expect(pathOf(path, names)).not.toMatch(/\/:/);
      const ask = (of: Names) =>
        stranger.call(method, pathOf(path, of), {
          ...(method === "GET" || method === "DELETE" ? {} : { body: bodyFor(path, of) }),
          ...(clientId === "registered" ? { clientId: of.clientId } : {}),
        });
      const [theirs, nothing] = [await ask(names), await ask(none)];
      expect({ path, ...seen(theirs, names) }).toEqual({ path, ...seen(nothing, none) });
      if (theirs.status === 400) unread.push(`${theirs.body.code} ${method} ${path}`);
      const isMissed = theirs.status === 404 && theirs.body.code === "session_not_found";
      if (path.startsWith("/session/:id") && !isMissed) others.push(`${theirs.status} ${path}`);
    }
    // Detaching succeeds, whether the client was attached or not.
    expect(others).toEqual(["204 /session/:id/detach"]);
    // No request was refused for its shape before the server looked for what it names. These
    // refusals are of an id that was looked for among the workspaces and is not there.
    expect(unread).toEqual([
      "invalid_request GET /workspace/:id/sessions",
      "invalid_request GET /workspaces/:workspace/sessions",
      "invalid_request GET /workspace/:id/session-info",
      "invalid_request POST /workspaces/:workspace/sessions/delete",
    ]);
  }, 60_000);

  it("is neither counted nor listed, and is untouched by all this", async () => {
    const { ada, stranger, names } = await open();
    const body = { sessionIds: [names.sessionId] };
    const gone = await stranger.call("POST", "/sessions/delete", { body });
    const none = unknown(names);
    const missing = await stranger.call("POST", "/sessions/delete", {
      body: { sessionIds: [none.sessionId] },
    });
    expect(seen(gone, names)).toEqual(seen(missing, none));
    const texts = [
      ...["/workspaces", "/members", "/tokens", "/capabilities", "/credits", "/credits/usage"],
      ...["/credits/statement", "/audit", `/audit?session=${names.sessionId}`],
      ...["/audit?format=ndjson", "/audit?format=csv"],
    ];
    for (const path of texts) {
      const { text } = await stranger.call("GET", path);
      for (const name of Object.values(names)) expect(text).not.toContain(name);
    }
    const status = await ada.call("GET", `/session/${names.sessionId}/status`);
    expect(status.body).toMatchObject({ status: "waiting" });
    expect((await ada.call("GET", "/tokens")).body.tokens).toMatchObject([{ revokedAt: null }]);
  });

  it("opens with no token of one's own that was bent to it", async () => {
    const { ada, stranger } = await open();
    const bent = [
      stranger.token.replace("fmt_other_", "fmt_acme_"),
      ada.token.replace("fmt_acme_", "fmt_other_"),
      ada.token.replace("fmt_acme_", "fmt_nobody_"),
      `${ada.token.slice(0, -1)}${ada.token.endsWith("0") ? "1" : "0"}`,
      "nonsense",
    ];
    const answers = await Promise.all(
      bent.map((token) => ada.with(token).call("GET", "/capabilities")),
    );
    const plain = answers.map(({ status, headers, text }) => {
      const { date: _, "x-request-id": __, ...rest } = headers;
      return { status, rest, text };
    });
    expect(plain[0]).toMatchObject({ status: 401 });
    for (const one of plain) expect(one).toEqual(plain[0]);
  });
});

function bodyFor(path: string, names: Names): object {
  if (path.endsWith("/sessions/delete")) return { sessionIds: [names.sessionId] };
  return BODIES[path] ?? {};
}

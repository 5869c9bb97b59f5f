import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { isUuid } from "../../core/id.ts";
import type { Called } from "../daemon.fixture.ts";
import { StreamClient } from "../http/stream-client.fixture.ts";
import { heard } from "../route/work.fixture.ts";
import type { People, Person } from "./people.fixture.ts";

/** What a request needs in its body to come as far as looking for what it names. */
const BODIES: Readonly<Record<string, object>> = {
  "/session/:id/prompt": { prompt: [{ type: "text", text: "say hi" }] },
  "/agents/:name/sessions/adopt": { agentSessionId: "one" },
  "/session/:id/agent": { agent: "echo" },
  "/session/:id/model": { modelId: "echo" },
  "/session/:id/approval-mode": { mode: "default" },
  "/session/:id/autonomy": { profile: "manual" },
  "/session/:id/agent-mode": { mode: "plan" },
  "/session/:id/config-option": { configId: "loud", value: true },
  "/session/:id/sandbox": { state: "none" },
  "/session/:id/visibility": { visibility: "private", sharedWith: ["stranger"] },
  "/session/:id/metadata": { displayName: "mine" },
  "/session/:id/btw": { question: "what?" },
  "/session/:id/shell": { command: "true" },
  "/session/:id/mid-turn-message": { message: "go on" },
  "/session/:id/permission/:requestId": { outcome: { outcome: "cancelled" } },
  "/permission/:requestId": { outcome: { outcome: "cancelled" } },
  "/credits/budgets/:scope": { budgetMicro: 5 },
  "/members/:user": { role: "viewer" },
};

/** The same routes, and those that answer otherwise if a query asks for it. */
export function withQueries<Row extends { readonly path: string }>(routes: readonly Row[]) {
  const waits = routes.filter(({ path }) => WAITS.has(path));
  return [...routes, ...waits.map((route) => ({ ...route, path: `${route.path}?wait=1s` }))];
}

const WAITS: ReadonlySet<string> = new Set(["/session/:id/prompt", "/session/:id/turns/:promptId"]);

/** The names of things that there are, or of things that there are not. */
export interface Names {
  readonly sessionId: string;
  readonly promptId: string;
  readonly requestId: string;
  readonly messageId: string;
  readonly tokenId: string;
  readonly user: string;
  readonly workspace: string;
  readonly clientId: string;
}

/** What Ada's session is called. */
export const SESSION_NAME = "adas-name";

/** The same things, and the session by its name. */
export function byName(names: Names): Names {
  return { ...names, sessionId: SESSION_NAME };
}

/** All that can differ between two answers, but for the names that were sent and the time. */
export function seen({ status, headers, text }: Called, names: Names) {
  const { date: _, "x-request-id": __, ...rest } = headers;
  let body = text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>");
  for (const [what, name] of Object.entries(names)) body = body.replaceAll(name, `<${what}>`);
  return { status, headers: rest, body };
}

export function pathOf(path: string, names: Names): string {
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
    .replace(":childId", names.promptId)
    .replace(":scope", `session:${names.sessionId}`)
    .replace(":key", "execute")
    .replace(":name", "echo")
    .replace(":user", names.user);
}

/** Ada has a session that waits for a vote, with another prompt behind it, and a workspace. */
export async function things(people: People, ada: Person, owner = ada): Promise<Names> {
  const cwd = join(people.world.stage.folder, "hers");
  mkdirSync(cwd);
  const added = await owner.call("POST", "/workspaces", { body: { cwd } });
  const body = { name: SESSION_NAME, cwd };
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
export function unknown(names: Names): Names {
  const same = (name: string) => name.replaceAll(/[a-z0-9]/g, "e");
  return {
    sessionId: isUuid(names.sessionId) ? randomUUID() : same(names.sessionId),
    promptId: randomUUID(),
    requestId: randomUUID(),
    messageId: same(names.messageId),
    tokenId: same(names.tokenId),
    user: same(names.user),
    workspace: `ws_${"e".repeat(names.workspace.length - 3)}`,
    clientId: same(names.clientId),
  };
}

export function bodyFor(path: string, names: Names): object {
  if (path.endsWith("/sessions/delete")) return { sessionIds: [names.sessionId] };
  return BODIES[path.split("?")[0] ?? ""] ?? {};
}

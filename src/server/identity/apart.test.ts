import { describe, expect, it } from "vitest";
import { IDLE } from "../http/server.fixture.ts";
import { allRoutes } from "../route/all-routes.ts";
import {
  bodyFor,
  byName,
  type Names,
  pathOf,
  SESSION_NAME,
  seen,
  things,
  unknown,
  withQueries,
} from "./apart.fixture.ts";
import { tenant } from "./identity.fixture.ts";
import { People } from "./people.fixture.ts";

async function open() {
  const settings = { token: "unused", enableShell: true };
  const people = await People.open({ settings });
  const ada = await people.person("adaada", "owner");
  const stranger = await people.person("stranger", "owner", tenant("other"));
  return { people, ada, stranger, names: await things(people, ada) };
}

describe("P8: what is another tenant's", () => {
  it("is answered byte for byte like what is not there, on every route", async () => {
    const { people, stranger, names } = await open();
    const none = unknown(names);
    const called = byName(names);
    const uncalled = { ...none, sessionId: unknown(called).sessionId };
    const { routes } = allRoutes(people.world.daemon, "0", async () => IDLE);
    const all = withQueries(routes.filter(({ path }) => path.includes(":")));
    expect(all.length).toBeGreaterThan(45);
    const others: string[] = [];
    const unread: string[] = [];
    for (const { method, path, clientId } of all) {
      expect(pathOf(path, names)).not.toMatch(/\/:/);
      const ask = (of: Names) =>
        stranger.call(method, pathOf(path, of), {
          ...(method === "GET" || method === "DELETE" ? {} : { body: bodyFor(path, of) }),
          ...(clientId === "registered" ? { clientId: of.clientId } : {}),
        });
      const [named, unnamed] = [await ask(called), await ask(uncalled)];
      expect({ path, ...seen(named, called) }).toEqual({ path, ...seen(unnamed, uncalled) });
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
      ...["/sessions", "/sessions?status=waiting", "/sessions?name=adas-name", "/asks", "/agents"],
      "/search?q=ask",
      ...["/workspaces", "/members", "/tokens", "/capabilities", "/credits", "/credits/usage"],
      ...["/credits/statement", "/audit", `/audit?session=${names.sessionId}`],
      ...["/audit?format=ndjson", "/audit?format=csv"],
    ];
    for (const path of texts) {
      const { text } = await stranger.call("GET", path);
      for (const name of [...Object.values(names), SESSION_NAME]) expect(text).not.toContain(name);
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

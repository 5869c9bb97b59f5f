import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished } from "vitest";
import type { JsonObject } from "../../src/core/json.ts";
import { SessionCaller } from "../session-model/caller.fixture.ts";
import { echoAgent, Files, mcpServer, toolSkill } from "../session-model/files.fixture.ts";
import {
  asRoot,
  processesWith,
  startSeparated,
  textOf,
  UID,
  usersHomeOf,
} from "./agent-user.fixture.ts";
import type { ServeOptions, ServeProcess } from "./serve.fixture.ts";
import { Talk } from "./talk.fixture.ts";

const TOOLS = { sh: "shell", look: "read_file", put: "write_file", who: "tester:pid" };

async function started(options: ServeOptions = {}): Promise<ServeProcess> {
  const server = await startSeparated(options);
  onTestFinished(() => server.end());
  return server;
}

/** Calls a server that needs this token. */
function callerOf(server: ServeProcess, token: string) {
  return async (path: string, body: object, clientId = ""): Promise<JsonObject> => {
    const headers = {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      ...(clientId !== "" && { "x-qwen-client-id": clientId }),
    };
    const sent = { method: "POST", headers, body: JSON.stringify(body) };
    return JSON.parse(await (await fetch(`${server.url}${path}`, sent)).text());
  };
}

const uidLine = (uid: number) => `Uid:\t${uid}\t${uid}\t${uid}\t${uid}\n`;

describe("P8: tools of a server with --agent-user", () => {
  asRoot("run as that user when a skill dispatches to them", async () => {
    const server = await started({
      prepare: ({ home }) => {
        const config = { mcpServers: { tester: mcpServer() } };
        writeFileSync(join(home, "mcp.json"), JSON.stringify(config), { mode: 0o600 });
      },
    });
    const { workspace } = server;
    const files = new Files(server);
    for (const [name, tool] of Object.entries(TOOLS)) files.skill(name, toolSkill(tool));
    writeFileSync(join(workspace, "roots.txt"), "OF-ROOT", { mode: 0o600 });
    const session = await SessionCaller.create(server, { mode: "yolo" });
    expect((await session.say("/skill sh id -u; echo $HOME")).text).toBe(
      `${UID}\n${usersHomeOf(server.folder)}`,
    );
    const read = await session.say("/skill look roots.txt");
    expect(read.text).toContain("permission is denied");
    await session.say("/skill put made.txt MADE");
    expect(statSync(join(workspace, "made.txt")).uid).toBe(UID);
    const { text: pid } = await session.say("/skill who {}");
    expect(textOf(`/proc/${pid}/status`)).toContain(uidLine(UID));
    expect(textOf(`/proc/${pid}/environ`)).toContain(`HOME=${usersHomeOf(server.folder)}\0`);
    expect((await session.say("/sh id -u")).text).toContain(`${UID}`);
  });

  asRoot("run as that user by the shell route", async () => {
    const token = "operators-own-token";
    const server = await started({
      flags: ["--enable-session-shell"],
      env: { FERMATA_TOKEN: token },
    });
    const call = callerOf(server, token);
    const { sessionId, clientId } = await call("/session", { sessionScope: "thread" });
    const command = `id -u; id -G; cat ${server.data}/sessions; env | grep TOKEN`;
    const ran = await call(`/session/${sessionId}/shell`, { command }, String(clientId));
    expect(ran.output).toContain(`${UID}\n${UID}\n`);
    expect(ran.output).toContain("Permission denied");
    expect(ran.output).not.toContain(token);
  });
});

describe("P8: profiles with users of their own", () => {
  const OTHER = UID + 1;

  asRoot("have processes of their own, each as its user", async () => {
    const server = await started({
      prepare: ({ folder, home, workspace }) => {
        const own = join(folder, "others-home");
        mkdirSync(own);
        chownSync(own, OTHER, OTHER);
        chmodSync(workspace, 0o777);
        const mine = { ...echoAgent(), user: `${OTHER}:${OTHER}`, env: { HOME: own } };
        writeFileSync(join(home, "agents.json"), JSON.stringify({ mine }), { mode: 0o600 });
      },
    });
    for (const agent of ["echo", "mine"]) {
      const talk = await Talk.begun(server, { agent, mode: "yolo" });
      await talk.prompt("turn_complete", `write ./of-${agent}.txt x`, "run id -u");
    }
    const uidOf = (name: string) => statSync(join(server.workspace, name)).uid;
    expect([uidOf("of-echo.txt"), uidOf("of-mine.txt")]).toEqual([UID, OTHER]);
    const agents = processesWith("builtin/echo/main").filter((pid) =>
      textOf(`/proc/${pid}/status`).includes(`PPid:\t${server.pid}\n`),
    );
    const users = agents.map((pid) => /Uid:\t(\d+)/.exec(textOf(`/proc/${pid}/status`))?.[1]);
    expect(users.toSorted()).toEqual([`${UID}`, `${OTHER}`]);
  });
});

describe("P8: homes of users under --agent-homes", () => {
  asRoot("belong to the agents' user, who can write in them", async () => {
    const token = "operators-own-token";
    const homes: string[] = [];
    const server = await started({
      env: { FERMATA_TOKEN: token },
      get flags() {
        return ["--agent-homes", homes[0] ?? ""];
      },
      prepare: ({ folder, home }) => {
        homes.push(join(folder, "homes"));
        const mine = { ...echoAgent(), home: "MY_HOME" };
        writeFileSync(join(home, "agents.json"), JSON.stringify({ mine }), { mode: 0o600 });
      },
    });
    const call = callerOf(server, token);
    const body = { sessionScope: "thread", agent: "mine", mode: "yolo" };
    const { sessionId } = await call("/session", body);
    const text = 'run sh -c "id -u > $MY_HOME/login"';
    await call(`/session/${sessionId}/prompt`, { prompt: [{ type: "text", text }] });
    const login = join(homes[0] ?? "", "local", "+tenant", "mine", "login");
    await expect.poll(() => textOf(login)).toBe(`${UID}\n`);
    expect(statSync(join(login, "..")).mode & 0o777).toBe(0o700);
    expect(statSync(join(login, "..")).uid).toBe(UID);
    expect(statSync(join(login, "..", "..")).uid).toBe(0);
  });
});

describe("P8: personas of a workspace", () => {
  asRoot("are not read through a link to what the agents' user may not read", async () => {
    const server = await started();
    const { folder, workspace } = server;
    linkSync(join(folder, "of-root.txt"), join(workspace, "SOUL.md"));
    writeFileSync(join(workspace, ".env"), "KEY=OF-ROOT", { mode: 0o600 });
    symlinkSync(".env", join(workspace, "AGENTS.md"));
    writeFileSync(join(workspace, "IDENTITY.md"), "I am CALLED-ADA.");
    const session = await SessionCaller.create(server);
    const { text } = await session.say("whoami");
    expect(text).toContain("CALLED-ADA");
    expect(text).not.toContain("OF-ROOT");
  });
});

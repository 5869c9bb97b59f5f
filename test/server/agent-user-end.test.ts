import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished } from "vitest";
import {
  asRoot,
  givenToServer,
  LAUNCHERS,
  processesWith,
  SERVER_UID,
  startSeparated,
  textOf,
  UID,
} from "./agent-user.fixture.ts";
import type { ServeProcess } from "./serve.fixture.ts";
import { Talk } from "./talk.fixture.ts";

async function startedBy(launcher: readonly string[]): Promise<ServeProcess> {
  const isOther = launcher.includes(`--reuid=${SERVER_UID}`);
  const server = await startSeparated({
    launcher,
    prepare: (prepared) => isOther && givenToServer(prepared),
  });
  onTestFinished(() => server.end());
  writeFileSync(join(server.workspace, "daemon.sh"), DAEMON, { mode: 0o644 });
  return server;
}

const unasked = (server: ServeProcess) => Talk.begun(server, { agent: "echo", mode: "yolo" });

/** Seconds that no other process sleeps for. */
function ownSeconds(): string {
  return `600.${Math.floor(Math.random() * 1e9)}`;
}

/** Has a process leave its group and its parent, as daemons do; it returns when that is done. */
const DAEMON = `mkfifo gone-$1
setsid sh -c 'echo > gone-'$1'; exec sleep '$1 > /dev/null 2>&1 &
read line < gone-$1
`;

const daemon = (seconds: string) => `run sh ./daemon.sh ${seconds}`;

/** The only process that sleeps for so long, once what becomes it has become the agents' user. */
async function sleeping(seconds: string): Promise<void> {
  const users = () =>
    processesWith(`sleep\0${seconds}`).map((pid) =>
      textOf(`/proc/${pid}/status`).includes(`Uid:\t${UID}\t`),
    );
  await expect.poll(users).toEqual([true]);
}

describe.each(Object.entries(LAUNCHERS))("a server that is %s", (_, launcher) => {
  asRoot("P8: starts agents as their user, with no rights of its own", async () => {
    const server = await startedBy(launcher);
    const talk = await unasked(server);
    const said = await talk.prompt(
      "turn_complete",
      'run sh -c "id -u; id -G; grep Cap /proc/self/status"',
      "write ./mine.txt MINE",
      "read ./mine.txt",
      `run cat ${server.data}/sessions`,
    );
    expect(said).toContain(`${UID}\\n${UID}\\nCapInh:`);
    for (const set of ["Prm", "Eff", "Amb"])
      expect(said).toContain(`Cap${set}:\\t${"0".repeat(16)}`);
    expect(said).toContain("read ./mine.txt: MINE");
    expect(said).toContain("Permission denied");
  });

  asRoot("P5: ends what its agents have started, in their group or not", async () => {
    const server = await startedBy(launcher);
    const [left, stayed] = [ownSeconds(), ownSeconds()];
    const talk = await unasked(server);
    await talk.prompt("turn_complete", daemon(left));
    await talk.prompt('"to":"running"', `run sleep ${stayed}`);
    await sleeping(left);
    await sleeping(stayed);
    await server.kill("SIGTERM", "SIGINT");
    expect(processesWith(`sleep\0${left}`)).toEqual([]);
    expect(processesWith(`sleep\0${stayed}`)).toEqual([]);
  });

  asRoot("P5: ends what a killed server has left of them", async () => {
    const server = await startedBy(launcher);
    const seconds = ownSeconds();
    const talk = await unasked(server);
    await talk.prompt("turn_complete", daemon(seconds));
    await sleeping(seconds);
    await server.kill("SIGKILL");
    expect(processesWith(`sleep\0${seconds}`)).toHaveLength(1);
    await server.restart();
    expect(processesWith(`sleep\0${seconds}`)).toEqual([]);
    expect(server.said).toContain("orphans ended");
  });
});

describe("the process that uses files for agents", () => {
  const helpers = (server: ServeProcess) =>
    processesWith("agent/user/main").filter((pid) =>
      textOf(`/proc/${pid}/status`).includes(`PPid:\t${server.pid}\n`),
    );

  asRoot("is replaced if an agent ends it, and is closed to agents", async () => {
    const server = await startedBy(LAUNCHERS.root);
    const talk = await unasked(server);
    await talk.prompt("turn_complete", "write ./a.txt FIRST");
    const [helper = 0] = helpers(server);
    const said = await talk.prompt(
      "turn_complete",
      `run cat /proc/${helper}/maps`,
      `run kill -9 ${helper}`,
      "read ./a.txt",
    );
    expect(said).toContain("Permission denied");
    expect(said).toContain("read ./a.txt: FIRST");
    await expect.poll(() => helpers(server)).not.toContain(helper);
    expect(helpers(server)).toHaveLength(1);
  });

  asRoot("P5: ends with its server, however that ends", async () => {
    const server = await startedBy(LAUNCHERS.root);
    const [helper = 0] = helpers(server);
    expect(helper).toBeGreaterThan(0);
    await server.kill("SIGKILL");
    await expect.poll(() => textOf(`/proc/${helper}/status`)).toBe("");
    await server.restart();
    const [next = 0] = helpers(server);
    await server.kill("SIGTERM", "SIGINT");
    expect(textOf(`/proc/${next}/status`)).toBe("");
  });
});

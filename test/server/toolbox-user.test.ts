// The tools of a server whose agents run as another user of the system.

import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
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

const TEXT = "Run the tests, and then deploy.";

async function startedBy(launcher: readonly string[]): Promise<ServeProcess> {
  const isOther = launcher.includes(`--reuid=${SERVER_UID}`);
  const server = await startSeparated({
    launcher,
    prepare: (prepared) => {
      const folder = join(prepared.workspace, ".fermata", "skills", "deploy");
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "SKILL.md"), TEXT);
      if (isOther) givenToServer(prepared);
    },
  });
  onTestFinished(() => server.end());
  return server;
}

describe.each(Object.entries(LAUNCHERS))("a server that is %s", (_, launcher) => {
  asRoot("P8: has tools for agents, which reach them as their own user", async () => {
    const server = await startedBy(launcher);
    const talk = await Talk.begun(server, { agent: "echo" });
    const said = await talk.prompt("turn_complete", 'mcp read_skill {"name":"deploy"}');
    expect(said).toContain(TEXT);
    const [name = ""] = readdirSync(server.folder).filter((one) => one.startsWith("fermata-"));
    const [relay = 0] = processesWith(join(server.folder, name));
    expect(textOf(`/proc/${relay}/status`)).toContain(`Uid:\t${UID}\t${UID}\t${UID}\t${UID}\n`);
    expect(readdirSync(join(server.folder, name, "proofs"))).toEqual([]);
    await server.kill("SIGTERM");
    expect(readdirSync(server.folder)).not.toContain(name);
  });
});

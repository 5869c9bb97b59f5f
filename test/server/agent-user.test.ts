import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished } from "vitest";
import { asRoot, startSeparated, UID, usersHomeOf } from "./agent-user.fixture.ts";
import type { ServeOptions, ServeProcess } from "./serve.fixture.ts";
import { Talk } from "./talk.fixture.ts";

async function started(options: ServeOptions = {}): Promise<ServeProcess> {
  const server = await startSeparated(options);
  onTestFinished(() => server.end());
  return server;
}

/** A session in which nothing is asked, so that only the system refuses. */
const unasked = (server: ServeProcess) => Talk.begun(server, { agent: "echo", mode: "yolo" });

describe("P8: agents of a server with --agent-user", () => {
  asRoot("run as that user, in its home, without the server's groups", async () => {
    const server = await started({ env: { MY_SECRET_KEY: "not-for-agents" } });
    const talk = await unasked(server);
    const who = "id -u; id -g; id -G; echo $HOME $USER; grep Cap /proc/self/status; env";
    const said = await talk.prompt("turn_complete", "env HOME USER LOGNAME", `run sh -c "${who}"`);
    expect(said).toContain(
      `${UID}\\n${UID}\\n${UID}\\n${usersHomeOf(server.folder)} ${UID}:${UID}`,
    );
    expect(said).toMatch(/CapPrm:\\t0+\\nCapEff:\\t0+\\n/);
    expect(said).toContain(`HOME=${usersHomeOf(server.folder)}`);
    expect(said).not.toContain("not-for-agents");
    const agents = readFileSync(`/proc/${agentOf(server)}/status`, "utf8");
    expect(agents).toMatch(new RegExp(`^Uid:\\t${UID}\\t${UID}\\t${UID}\\t${UID}$`, "m"));
  });

  asRoot("may have a user that the system knows by name", async () => {
    const users = readFileSync("/etc/passwd", "utf8");
    const [, uid = "", gid = ""] = /^nobody:[^:]*:(\d+):(\d+):/m.exec(users) ?? [];
    const server = await started({
      flags: ["--agent-user", "nobody"],
      prepare: ({ folder, workspace }) => {
        for (const path of [workspace, usersHomeOf(folder)]) chownSync(path, +uid, +gid);
      },
    });
    const talk = await unasked(server);
    const said = await talk.prompt("turn_complete", 'run sh -c "id -u; echo $USER $LOGNAME"');
    expect(said).toContain(`${uid}\\nnobody nobody\\n`);
  });

  asRoot("read and write files as that user, through the server too", async () => {
    const server = await started();
    const { folder, workspace, data } = server;
    mkdirSync(join(workspace, "shut"), { mode: 0o700 });
    writeFileSync(join(workspace, "shut", "a.txt"), "OF-ROOT");
    writeFileSync(join(workspace, "roots.txt"), "OF-ROOT", { mode: 0o600 });
    writeFileSync(join(workspace, "all.txt"), "FOR-ALL");
    chmodSync(join(workspace, "all.txt"), 0o644);
    const talk = await unasked(server);
    const said = await talk.prompt(
      "turn_complete",
      "read ./all.txt",
      "read ./roots.txt",
      "read ./shut/a.txt",
      "write ./shut/b.txt mine",
      "write ./all.txt mine",
      "write ./new/mine.txt MINE",
      `read ${join(folder, "of-root.txt")}`,
      `run cat ${join(folder, "of-root.txt")}`,
      `run ls ${data}`,
      `run cat /proc/${server.pid}/environ`,
      `run sh -c "echo x > ${join(folder, "new.txt")}"`,
    );
    expect(said).toContain("read ./all.txt: FOR-ALL");
    expect(said.match(/permission is denied/g)).toHaveLength(4);
    expect(said.match(/Permission denied/g)?.length).toBeGreaterThanOrEqual(4);
    expect(said).not.toContain("OF-ROOT");
    expect(readFileSync(join(workspace, "all.txt"), "utf8")).toBe("FOR-ALL");
    expect(statSync(join(workspace, "new", "mine.txt")).uid).toBe(UID);
    expect(existsSync(join(folder, "new.txt"))).toBe(false);
  });
});

/** The agent's process: the one whose parent is the server and that is no helper of its own. */
function agentOf(server: ServeProcess): number {
  const children = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, "utf8");
  const isAgent = (pid: string) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("echo");
  return Number(children.trim().split(" ").find(isAgent));
}

import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  asRoot,
  givenToServer,
  LAUNCHERS,
  startSeparated,
  UID,
  usersHomeOf,
} from "./agent-user.fixture.ts";
import { type ServeOptions, ServeProcess } from "./serve.fixture.ts";
import { asked } from "./talk.fixture.ts";

/** What a server says that does not start. */
async function refusal(start: Promise<ServeProcess>): Promise<string> {
  const said = await start.then(
    (server) => server.end().then(() => "it has started"),
    (thrown: unknown) => String(thrown),
  );
  return said;
}

const refusedWith = (...flags: readonly string[]) => refusal(ServeProcess.start({ flags }));

describe("--agent-user is refused at the start", () => {
  it.each([
    ["no-such-user-here", "there is no user"],
    ["root", "is root"],
    ["0:7", "is root"],
    ["7:0", "is root's"],
    ["; rm -rf /", "is not a user's name"],
    ["-x", "is not a user's name"],
    ["99999999999:1", "is not a user's name"],
    ["4294967295:1", "no ids as large"],
  ])(
    "for %j",
    async (name, reason) => {
      expect(await refusedWith(`--agent-user=${name}`)).toContain(reason);
    },
    60_000,
  );

  it("for a home without a user", async () => {
    expect(await refusedWith("--agent-home", "/tmp")).toContain("--agent-user, which is missing");
  }, 60_000);

  asRoot("for a token on the command line, which every user can read", async () => {
    const said = await refusal(startSeparated({ flags: ["--token", "operators-own-token"] }));
    expect(said).toContain("set FERMATA_TOKEN");
  });

  asRoot("without the capabilities, which it names", async () => {
    const launcher = ["setpriv", "--bounding-set=-setuid,-kill"];
    const said = await refusal(startSeparated({ launcher }));
    expect(said).toContain("it lacks CAP_KILL, CAP_SETUID; start it as root, or with");
  });

  asRoot("with capabilities that a program would keep, if setpriv is not there", async () => {
    const folder = mkdtempSync(join(tmpdir(), "fermata-setpriv-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const copy = join(folder, "setpriv");
    copyFileSync("/usr/bin/setpriv", copy);
    const words: readonly string[] = LAUNCHERS["a user with three capabilities"];
    const script = 'mount --bind /dev/null /usr/bin/setpriv && exec "$@"';
    const launcher = ["unshare", "--mount", "sh", "-c", script, "sh", ...words.with(0, copy)];
    const said = await refusal(startSeparated({ launcher, prepare: givenToServer }));
    expect(said).toContain("it needs setpriv of util-linux");
  });
});

/** What is wrong with a server's folders, what it says of that, and whether its command is run. */
const FAULTS: readonly [string, (server: ServeProcess) => void, string][] = [
  [
    "a home that is missing",
    ({ folder }) => rmSync(usersHomeOf(folder), { recursive: true }),
    "does not exist",
  ],
  ["a home of another user", ({ folder }) => chownSync(usersHomeOf(folder), 0, 0), "and may not"],
  ["data that it can read", ({ data }) => mkdirSync(data, { mode: 0o755 }), "can read it"],
  ["a configuration that it can read", ({ home }) => chmodSync(home, 0o755), "can read it"],
  [
    "agents.json that it can read in a folder that it may enter",
    ({ home }) => {
      chmodSync(home, 0o711);
      chmodSync(join(home, "agents.json"), 0o644);
    },
    "agents.json: the agents' user can read it",
  ],
  [
    "skills of the operator that it can change",
    ({ home }) => {
      chmodSync(home, 0o711);
      chmodSync(join(home, "agents.json"), 0o600);
      mkdirSync(join(home, "skills"));
      chownSync(join(home, "skills"), UID, UID);
    },
    "skills: the agents' user can change it",
  ],
  [
    "a skill of the operator that it can change",
    ({ home }) => {
      chmodSync(home, 0o711);
      chmodSync(join(home, "agents.json"), 0o600);
      mkdirSync(join(home, "skills", "deploy"), { recursive: true });
      writeFileSync(join(home, "skills", "deploy", "SKILL.md"), "Deploy.");
      chownSync(join(home, "skills", "deploy", "SKILL.md"), UID, UID);
    },
    "SKILL.md: the agents' user can change it",
  ],
  [
    "a folder above the data that it can change",
    ({ folder, data }) => {
      mkdirSync(data, { mode: 0o700 });
      chmodSync(folder, 0o733);
    },
    "can change it through",
  ],
];

describe("the folders of a server with --agent-user", () => {
  for (const option of ["secrets-dir", "agent-homes"]) {
    asRoot(`are refused if that user can replace them: --${option}`, async () => {
      const folder = mkdtempSync(join(tmpdir(), "fermata-replaced-"));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      chmodSync(folder, 0o777);
      mkdirSync(join(folder, "own"), { mode: 0o711 });
      const said = await refusal(startSeparated({ flags: [`--${option}`, join(folder, "own")] }));
      expect(said).toContain(`own: the agents' user can change it through ${folder}`);
    });
  }

  asRoot("P11: are those of a store's package, too, where it really is", async () => {
    const real = realpathSync(mkdtempSync(join(tmpdir(), "fermata-linked-")));
    onTestFinished(() => rmSync(real, { recursive: true }));
    chmodSync(real, 0o755);
    mkdirSync(join(real, "lib"));
    const root = '{ "name": "their-store", "exports": "./lib/main.js" }';
    writeFileSync(join(real, "package.json"), root);
    writeFileSync(join(real, "lib", "package.json"), '{ "type": "module" }');
    writeFileSync(join(real, "lib", "main.js"), 'import "../more.js";');
    writeFileSync(join(real, "more.js"), "");
    chownSync(join(real, "more.js"), UID, UID);
    const prepare = ({ home }: ServeProcess) => {
      mkdirSync(join(home, "node_modules"));
      symlinkSync(real, join(home, "node_modules", "their-store"));
    };
    const said = await refusal(startSeparated({ flags: ["--store", "their-store"], prepare }));
    expect(said).toContain(`${join(real, "more.js")}: the agents' user can change it`);
  });

  asRoot("count for the ids of a profile, too: no token is on the command line", async () => {
    const said = await refusal(
      ServeProcess.start({
        flags: ["--token", "operators-own-token"],
        prepare: ({ home }) => {
          const mine = { command: "/bin/true", uid: UID, gid: UID };
          writeFileSync(join(home, "agents.json"), JSON.stringify({ mine }), { mode: 0o600 });
        },
      }),
    );
    expect(said).toContain("set FERMATA_TOKEN");
  });

  for (const [what, spoil, reason] of FAULTS) {
    asRoot(`are refused with the command that mends them: ${what}`, async () => {
      const said = await refusal(startSeparated({ prepare: spoil }));
      expect(said).toContain(reason);
      const [, command = ""] = /To mend it, run: (.*)\.$/m.exec(said) ?? [];
      expect(command).not.toBe("");
      const server = await startSeparated({
        prepare: (prepared) => {
          spoil(prepared);
          // The command names the folders of the first server.
          const [first = ""] = /\/[^ ']*fermata-serve-\w+/.exec(command) ?? [];
          execFileSync("sh", ["-c", command.replaceAll(first, prepared.folder)]);
        },
      });
      await server.end();
    });
  }

  asRoot("are refused where the workspace cannot be read, and say how to open it", async () => {
    const said = await refusal(startSeparated({ prepare: ({ workspace }) => closed(workspace) }));
    expect(said).toMatch(/may not read in it.*run: setfacl -R -m u:54321:rwX -m d:u:54321:rwX \//);
    const above = await refusal(
      startSeparated({ prepare: ({ folder }) => chmodSync(folder, 0o700) }),
    );
    expect(above).toMatch(/may not enter .*run: setfacl -m u:54321:x \//);
  });

  asRoot("may be read only, which is logged", async () => {
    const readOnly = ({ workspace }: ServeProcess) => {
      chownSync(workspace, 0, 0);
      chmodSync(workspace, 0o755);
    };
    const server = await startSeparated({ prepare: readOnly });
    onTestFinished(() => server.end());
    expect(server.said).toContain("workspace is read-only to agents");
  });
});

function closed(path: string) {
  chownSync(path, 0, 0);
  chmodSync(path, 0o700);
}

describe("a workspace that the agents' user cannot read", () => {
  asRoot("is not added, and no session is made in it", async () => {
    const server = await startSeparated();
    onTestFinished(() => server.end());
    const other = join(server.folder, "other");
    mkdirSync(other, { mode: 0o700 });
    const added = await asked(server, "POST", "/workspaces", { cwd: other });
    expect(added).toMatchObject({ code: "agent_user_access", path: other, user: `${UID}:${UID}` });
    expect(String(added.error)).toContain("To mend it, run: setfacl -R");
    chownSync(other, UID, UID);
    expect(await asked(server, "POST", "/workspaces", { cwd: other })).toMatchObject({
      cwd: other,
    });
    closed(other);
    const body = { cwd: other, sessionScope: "thread" };
    const made = await asked(server, "POST", "/session", body);
    expect(made).toMatchObject({ code: "agent_user_access", path: other });
    chownSync(other, UID, UID);
    expect(await asked(server, "POST", "/session", body)).toHaveProperty("sessionId");
  });
});

describe("a server whose callers have tokens", () => {
  const withToken: ServeOptions = { env: { FERMATA_TOKEN: "operators-own-token" } };

  async function health(server: ServeProcess): Promise<string> {
    const headers = { authorization: "Bearer operators-own-token" };
    return (await fetch(`${server.url}/health?deep`, { headers })).text();
  }

  const ADVICE = "so roles, credits and audit are advice";

  it("says at the start and in its health that agents share its user", async () => {
    const server = await ServeProcess.start(withToken);
    onTestFinished(() => server.end());
    await expect.poll(() => server.said).toContain(ADVICE);
    expect(await health(server)).toContain(ADVICE);
  }, 60_000);

  it("says so only where there are tokens", async () => {
    const server = await ServeProcess.start();
    onTestFinished(() => server.end());
    expect(await health(server)).toContain('"status":"ok"');
    expect(`${server.said}${await health(server)}`).not.toContain(ADVICE);
  }, 60_000);

  asRoot("says nothing of it where agents have another user", async () => {
    const server = await startSeparated(withToken);
    onTestFinished(() => server.end());
    expect(await health(server)).toContain('"status":"ok"');
    expect(`${server.said}${await health(server)}`).not.toContain(ADVICE);
  });
});

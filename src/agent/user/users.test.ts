import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { parseTenantId } from "../../core/id.ts";
import { AgentHomes } from "../credential/agent-homes.ts";
import { profileOf } from "../profile/profile.ts";
import { given } from "../workspace/world.fixture.ts";
import { findAccount, type SystemUser } from "./account.ts";
import { AgentUsers } from "./users.ts";

const UID = 54_321;

/** Only root may become another user; elsewhere these tests count as n/a. */
function asRoot(title: string, run: () => Promise<void>): void {
  if (process.getuid?.() === 0 && process.platform === "linux") it(title, run, 60_000);
  else it(`${title}: n/a (it needs root on Linux)`, () => {});
}

async function accountOf(name: string): Promise<SystemUser> {
  const found = await findAccount(name, null);
  if (typeof found === "string") throw new Error(found);
  return found;
}

function folderFor(): string {
  const folder = mkdtempSync(join(tmpdir(), "fermata-users-"));
  chmodSync(folder, 0o711);
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

asRoot("homes of a deleted tenant are emptied with the rights of their own user", async () => {
  const account = await accountOf(`${UID}:${UID}`);
  const users = new AgentUsers(account);
  onTestFinished(() => users.close());
  users.userFilesOf(account);
  const root = folderFor();
  const homes = new AgentHomes(root, users);
  const tenantId = parseTenantId("acme");
  if (tenantId === null) throw new Error("it is no id");
  const profile = profileOf({ name: "mine", command: "agent", account });
  const home = given(await homes.of(profile, { tenantId, userId: null }));
  mkdirSync(join(home, "login"));
  chownSync(join(home, "login"), UID, UID);
  writeFileSync(join(home, "login", "key"), "KEY");
  // Of root: only root could remove it.
  mkdirSync(join(home, "shut"), { mode: 0o700 });
  writeFileSync(join(home, "shut", "key"), "KEY");
  await homes.remove(tenantId);
  expect(existsSync(join(home, "login"))).toBe(false);
  expect(existsSync(join(home, "shut", "key"))).toBe(true);
  rmSync(join(home, "shut"), { recursive: true });
  await homes.remove(tenantId);
  expect(existsSync(join(root, "acme"))).toBe(false);
});

asRoot("homes of a user that no agent has any more are not removed by root", async () => {
  const users = new AgentUsers();
  onTestFinished(() => users.close());
  const root = folderFor();
  const homes = new AgentHomes(root, users);
  const tenantId = parseTenantId("acme");
  if (tenantId === null) throw new Error("it is no id");
  const profile = profileOf({ name: "mine", command: "agent", uid: UID, gid: UID });
  const home = given(await homes.of(profile, { tenantId, userId: null }));
  // Of root: only root could remove it.
  mkdirSync(join(home, "shut"), { mode: 0o700 });
  writeFileSync(join(home, "shut", "key"), "KEY");
  expect(await homes.remove(tenantId)).toBe(false);
  expect(existsSync(join(home, "shut", "key"))).toBe(true);
  chownSync(join(home, "shut"), UID, UID);
  expect(await homes.remove(tenantId)).toBe(true);
  expect(existsSync(join(root, "acme"))).toBe(false);
});

asRoot("no home is made or given away behind a link, and none is removed there", async () => {
  const [root, other] = [folderFor(), folderFor()];
  const users = new AgentUsers();
  onTestFinished(() => users.close());
  const homes = new AgentHomes(root, users);
  const tenantId = parseTenantId("acme");
  if (tenantId === null) throw new Error("it is no id");
  const profile = profileOf({ name: "mine", command: "agent", uid: UID, gid: UID });
  mkdirSync(join(other, "+tenant", "mine"), { recursive: true });
  for (const [link, target] of [
    ["acme", other],
    ["acme/+tenant", join(other, "+tenant")],
  ] as const) {
    symlinkSync(target, join(root, link));
    const refused = await homes.of(profile, { tenantId, userId: null });
    expect(refused).toMatchObject({ refusal: { code: "agent_home_unusable" } });
    expect(await homes.remove(tenantId)).toBe(false);
    expect(statSync(join(other, "+tenant", "mine")).uid).toBe(0);
    unlinkSync(join(root, link));
    mkdirSync(join(root, "acme"), { recursive: true });
  }
});

asRoot("files are used with the rights of their user, when the audit has the act", async () => {
  const account = await accountOf(`${UID}:${UID}`);
  const users = new AgentUsers(account);
  onTestFinished(() => users.close());
  const workspace = folderFor();
  chmodSync(workspace, 0o755);
  const files = users.userFilesOf(account);
  const access = given(await files.workspaceAccess(workspace));
  expect(access).toMatchObject({ fault: null, readOnly: { path: workspace } });
  chownSync(workspace, UID, UID);
  expect(given(await files.workspaceAccess(workspace))).toEqual({ fault: null, readOnly: null });
  const acts: string[] = [];
  const audit = async (act: string) => void acts.push(act);
  const file = { workspace, path: "a.txt" };
  given(await files.write({ ...file, content: "MINE" }, audit));
  const read = await files.read({ ...file, line: null, limit: null }, audit);
  expect(read).toEqual({ ok: true, value: { content: "MINE" } });
  expect(acts).toEqual(["fs.write", "fs.read"]);
  const unrecorded = async () => Promise.reject(new Error("the audit is full"));
  const refused = await files.write({ ...file, content: "OTHER" }, unrecorded);
  expect(refused).toMatchObject({ ok: false, refusal: { code: "file_unavailable" } });
  expect(given(await files.realPathOf({ ...file, path: "./a.txt" }, "read"))).toBe(
    join(workspace, "a.txt"),
  );
  const outside = await files.realPathOf({ ...file, path: "../b.txt" }, "read");
  expect(outside).toMatchObject({ refusal: { code: "path_outside_workspace" } });
});

/** The processes that this one has started. */
function ownChildren(): readonly number[] {
  const tasks = readdirSync("/proc/self/task");
  const lists = tasks.map((task) => readFileSync(`/proc/self/task/${task}/children`, "utf8"));
  return lists.flatMap((list) => list.split(" ").filter(Boolean).map(Number));
}

asRoot("P9: an act is recorded once, also if its process ends while it is recorded", async () => {
  const account = await accountOf(`${UID}:${UID}`);
  const users = new AgentUsers(account);
  onTestFinished(() => users.close());
  const workspace = folderFor();
  chownSync(workspace, UID, UID);
  const files = users.userFilesOf(account);
  const acts: string[] = [];
  const audit = async (act: string) => {
    acts.push(act);
    const helper = ownChildren().find((pid) => statSync(`/proc/${pid}`).uid === UID);
    process.kill(helper ?? expect.fail("there is no helper"), "SIGKILL");
    await expect.poll(() => existsSync(`/proc/${helper}`)).toBe(false);
  };
  given(await files.write({ workspace, path: "a.txt", content: "MINE" }, audit));
  expect(acts).toEqual(["fs.write"]);
  expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("MINE");
});

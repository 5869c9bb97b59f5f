import { readdirSync, readFileSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { USER_FILES_LINE_BYTES_MAX } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import { LineSplitter, OVERLONG } from "../../wire/rpc.ts";
import { linuxMarkOf } from "../process/process-table.ts";
import { OWN_FILES } from "../workspace/files.ts";
import { OwnFolders } from "../workspace/location.ts";
import { exposureFault, homeFault, identityOf, workspaceAccess } from "./access.ts";
import { rightsFault, rightsIn } from "./account.ts";
import { type UserAnswer, type UserRequest, userRequest } from "./protocol.ts";

/*
 * A process that uses files with the rights of the agents' user. It starts as the server's user,
 * so that it can load this program from wherever it is installed, and gives up all rights before
 * it reads its first line. As it never runs another program, agents of its user cannot look into
 * it. It ends with its input.
 */

const [uid = 0, gid = 0] = process.argv.slice(2).map(Number);
const user = { uid, gid };
const awaited = new Map<number, (isRecorded: boolean) => void>();

becomeUser();
process.stdin.on("end", () => process.exit(0)).on("error", () => process.exit(0));
process.stdout.on("error", () => process.exit(0));
const lines = new LineSplitter(USER_FILES_LINE_BYTES_MAX);
process.stdin.on("data", (chunk: Buffer) => {
  for (const line of lines.feed(chunk)) if (line !== OVERLONG) void serve(line);
});
tell({ ready: true });

/** Throws, which ends the process, if any right of the server would be left. */
function becomeUser() {
  process.setgroups?.([]);
  process.setgid?.(gid);
  // The system drops capabilities with root's id. Without it they would stay.
  if (process.getuid?.() !== 0) process.setuid?.(0);
  process.setuid?.(uid);
  const threads = readdirSync("/proc/self/task");
  for (const thread of threads) {
    const rights = rightsIn(readFileSync(`/proc/self/task/${thread}/status`, "utf8"));
    const fault = rightsFault(user, rights);
    if (fault !== null) throw new Error(`The process cannot become user ${uid}: ${fault}`);
  }
}

async function serve(line: string): Promise<void> {
  const request = userRequest().parse(JSON.parse(line));
  const { id } = request;
  if (request.do === "recorded") {
    awaited.get(id)?.(request.isRecorded);
    awaited.delete(id);
    return;
  }
  const answer = await answerTo(request);
  if (answer.ok) return tell({ id, value: answer.value });
  tell({ id, refusal: answer.refusal });
}

type ServedRequest = Exclude<UserRequest, { do: "recorded" }>;

async function answerTo(request: ServedRequest): Promise<Result<UserValue>> {
  switch (request.do) {
    case "identify":
      return ok(plain(await identityOf(request.path)));
    case "empty":
      await emptied(request.folder);
      return ok(null);
    case "marks":
      return ok(marksOf(request.pids));
    case "check_home":
      return ok(plain(await homeFault(user, request.home)));
    case "check_workspace": {
      const { fault, readOnly } = await workspaceAccess(user, request.workspace);
      return ok({ fault: plain(fault), readOnly: plain(readOnly) });
    }
    case "check_own":
      return ok(plain(await exposureFault(request)));
    default:
      return useFile(request);
  }
}

type UserValue = Extract<UserAnswer, { value: unknown }>["value"];

async function emptied(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    await rm(join(folder, name), { recursive: true, force: true }).catch(() => undefined);
  }
}

/** Of those processes that this user may look at. */
function marksOf(pids: readonly number[]) {
  return pids.flatMap((pid) => {
    const mark = linuxMarkOf(pid);
    return mark === null ? [] : [{ pid, ...mark, isHidden: false }];
  });
}

/** A copy that is JSON by its type, too. */
function plain<Fields extends object>(
  fields: Fields | null,
): { [Key in keyof Fields]: Fields[Key] } | null {
  return fields === null ? null : { ...fields };
}

async function useFile(
  request: Extract<ServedRequest, { workspace: string; path: string }>,
): Promise<Result<UserValue>> {
  const { id, workspace, path, permitted } = request;
  const own = OwnFolders.of(request.own);
  const file = { workspace, path, own, ...(permitted === undefined ? {} : { permitted }) };
  const audit = recorder(id);
  switch (request.do) {
    case "locate":
      return OWN_FILES.realPathOf(file, request.to);
    case "read":
      return OWN_FILES.read({ ...file, line: request.line, limit: request.limit }, audit);
    case "write": {
      const written = await OWN_FILES.write({ ...file, content: request.content }, audit);
      return written.ok ? ok(null) : written;
    }
  }
}

/** Has the server record an act, and rejects if it has not. */
function recorder(id: number) {
  return async (act: string, about: { readonly [key: string]: unknown }): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    awaited.set(id, resolve);
    const details = JSON.parse(JSON.stringify(about));
    tell({ id, record: { act, details } });
    if (!(await promise)) throw new Error("The act was not recorded.");
  };
}

function tell(answer: UserAnswer) {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

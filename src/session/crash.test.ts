import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { type PromptId, parsePromptId, parseSessionId, type SessionId } from "../core/id.ts";
import { selected } from "../core/policy/ask.ts";
import { bundled } from "../platform/bundle.fixture.ts";
import { reconcileStaleSessions } from "./life/recovery.ts";
import { type Hand, Stage, TENANT, value } from "./stage.fixture.ts";

const SERVER = fileURLToPath(await bundled(new URL("server.fixture.ts", import.meta.url)));
const COMPILED = fileURLToPath(new URL("../../node_modules/.cache/node", import.meta.url));

/**
 * Two turns, the second of which waits for the first. Between its words the agent asks, and goes on
 * when a client has agreed to what was told. So these words cannot share a commit, however fast or
 * slow the machine is, and there are as many moments to be killed at.
 */
const SCRIPTS = [
  ["say one", "chunks 5 50", "tool t1 kind=read", "say two"],
  ["say three", "usage 10 100 input=1", "say four"],
].map((words) => words.join(";ask;"));

/**
 * As many commits there are at least, since none of these can be in one with another: the session,
 * its agent, the first prompt, five asks, five votes, and the ends of two turns.
 */
const COMMITS_MIN = 15;

/** What clients saw of a server until it was killed. */
interface Seen {
  sessionId: SessionId | null;
  readonly events: { readonly id: number; readonly text: string }[];
  readonly admitted: PromptId[];
  isDone: boolean;
  wasKilled: boolean;
}

async function seenUntilKilled(folder: string, moment: Moment): Promise<Seen> {
  const { failpoint = "", afterLines = Number.POSITIVE_INFINITY } = moment;
  const server = spawn(process.execPath, [SERVER, folder, ...SCRIPTS], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, FERMATA_FAILPOINT: failpoint, NODE_COMPILE_CACHE: COMPILED },
  });
  const ended = once(server, "exit");
  let heard = 0;
  const seen: Seen = { sessionId: null, events: [], admitted: [], isDone: false, wasKilled: false };
  for await (const line of createInterface({ input: server.stdout })) {
    const said = JSON.parse(line);
    heard += 1;
    if (heard === afterLines) seen.wasKilled = server.kill("SIGKILL");
    if ("sessionId" in said) seen.sessionId = parseSessionId(said.sessionId);
    if ("admitted" in said) seen.admitted.push(parsePromptId(said.admitted) ?? expect.fail());
    if ("id" in said) seen.events.push(said);
    if ("done" in said) seen.isDone = true;
  }
  expect((await ended)[1]).toBe("SIGKILL");
  // A moment that is never reached proves nothing, so it is a fault of this test.
  if (failpoint !== "") expect(seen.isDone).toBe(false);
  if (Number.isFinite(afterLines)) expect(seen.wasKilled).toBe(true);
  return seen;
}

/** What is left to do is done, and each ask in it agreed to. */
async function doneWith(hand: Hand): Promise<void> {
  const { stage, live } = hand;
  let isDone = false;
  const done = live
    .until(({ queue, running }) => queue.length === 0 && running === null)
    .then(() => {
      isDone = true;
    });
  const agreed = new Set<string>();
  while (!isDone) {
    const asks = () =>
      hand.events
        .flatMap((event) => (event.type === "permission_request" ? [event.data] : []))
        .filter(({ requestId }) => !agreed.has(requestId));
    await Promise.race([done, stage.until(() => asks().length > 0)]);
    for (const { requestId, options } of asks()) {
      agreed.add(requestId);
      await hand.say("vote", { requestId, outcome: selected(options[0]?.optionId ?? "") });
    }
  }
}

/** When it is killed: at a step of a commit, or when its clients have heard so many lines. */
interface Moment {
  readonly failpoint?: string;
  readonly afterLines?: number;
}

const MOMENTS: readonly (readonly [string, Moment])[] = [
  ...["sqlite-before-commit", "sqlite-after-commit"].flatMap((point) =>
    Array.from({ length: COMMITS_MIN }, (_, index) => {
      const failpoint = `${point}:${index + 1}`;
      return [failpoint, { failpoint }] as const;
    }),
  ),
  ...[1, 4, 7, 9, 12, 15, 20, 26, 44].map((afterLines) => {
    return [`line ${afterLines} of what clients hear`, { afterLines }] as const;
  }),
  ["its own end", {}],
];

describe("a server that is killed", () => {
  it.each(MOMENTS)(
    "88, P1, P2, P3, P5: at %s takes nothing back, and its prompts have their verdicts",
    async (_, moment) => {
      const folder = realpathSync(mkdtempSync(join(tmpdir(), "fermata-crash-")));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const seen = await seenUntilKilled(folder, moment);
      const stage = await Stage.open({ folder });
      const recovery = value(await reconcileStaleSessions(stage.world, stage.registry));
      expect(recovery.setAside).toEqual([]);
      const { sessions } = value(
        await stage.world.store.list(TENANT, {}, { limit: 10, cursor: null }),
      );
      expect(sessions.length).toBeLessThanOrEqual(1);
      const [record] = sessions;
      if (record === undefined) {
        expect(seen).toMatchObject({ events: [], admitted: [] });
        return;
      }
      const hand = await stage.opened(record.sessionId);
      await doneWith(hand);
      await stage.registry.release(hand.live);
      const page = await stage.world.store.readEvents(hand.live.key, { after: 0, limit: 1_000 });
      const { events } = value(page);
      // P3: numbered from 1 without a gap. P1: all that was seen is there, word for word.
      expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
      const stored = new Map(events.map(({ id, text }) => [id, text]));
      for (const { id, text } of seen.events) expect(stored.get(id)).toBe(text);
      // P2: each prompt that was acknowledged has one verdict, and none has two.
      const verdicts = events
        .map(({ text }) => JSON.parse(text))
        .filter(({ type }) => type === "turn_complete" || type === "turn_error")
        .map(({ data }) => data.promptId);
      expect(new Set(verdicts).size).toBe(verdicts.length);
      for (const promptId of seen.admitted) expect(verdicts).toContain(promptId);
      // P5: nothing is left of the agents, and doing it again finds nothing to do.
      const again = value(await reconcileStaleSessions(stage.world, stage.registry));
      expect(again.total).toBe(again.recovered);
      await stage.world.agents.shutdown();
      const marks = join(folder, "running-agents");
      expect(existsSync(marks) ? readdirSync(marks) : []).toEqual([]);
    },
  );
});

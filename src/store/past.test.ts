import { setImmediate as aMoment } from "node:timers/promises";
import { expect, it } from "vitest";
import { FORK_COMMITS_AT_ONCE_MAX } from "../core/limits.ts";
import { replaced } from "./kit/broken/altered.ts";
import { value } from "./kit/expect.ts";
import * as sample from "./kit/sample.ts";
import { memoryStore } from "./memory/store.ts";
import { copyByCommits } from "./past.ts";

const FROM = sample.keyOf("source");
const TO = sample.keyOf("branch");
const TURNS = 3 * FORK_COMMITS_AT_ONCE_MAX;

const HOST = {
  persistenceSurface: { announce: () => {} },
  env: { get: () => undefined },
  audit: () => {},
};

it("P10: the commits of a branch go to a store together, and never more than a few", async () => {
  const store = memoryStore();
  await value(store.init(HOST, { active: true }));
  await value(store.activate());
  const { storeId } = store.contract;
  const made = (key: typeof FROM) =>
    value(store.create(key, sample.newSession(sample.manifest(key, storeId))));
  const { term } = await made(FROM);
  const manifest = sample.manifest(FROM, storeId);
  for (let n = 1; n <= TURNS; n += 1) {
    const text = JSON.stringify({ id: n, v: 1, type: "session_update", data: {} });
    const turn = { firstId: n, lastId: n, text: `[${text}]` };
    const snapshot = sample.snapshot(manifest, n - 1, { messages: ["{}"], turn });
    await value(store.commit(FROM, term, sample.commit({ events: [{ id: n, text }], snapshot })));
  }
  const branch = await made(TO);
  const underWay = { now: 0, most: 0 };
  const counted = replaced(store, {
    async commit(key, of, commit) {
      underWay.now += 1;
      underWay.most = Math.max(underWay.most, underWay.now);
      await aMoment();
      underWay.now -= 1;
      return store.commit(key, of, commit);
    },
  });
  const goal = { messages: TURNS, throughEventId: TURNS };
  const step = { from: FROM.sessionId, epoch: "epoch-1", ...goal };
  const from = { afterEventId: 0, expectedRevision: 0 };
  await value(copyByCommits(counted, TO, branch.term, { ...step, ...from }));
  expect(underWay.now).toBe(0);
  expect(underWay.most).toBe(FORK_COMMITS_AT_ONCE_MAX);
  expect(await value(store.readRecord(TO))).toMatchObject({ turnCount: TURNS });
});

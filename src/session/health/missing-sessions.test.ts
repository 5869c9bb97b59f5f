import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { refusal } from "../../core/error.ts";
import { DONE } from "../../core/result.ts";
import { SessionLocator } from "../../store/index.ts";
import { PlayedAgents, playedSession } from "../played-agents.fixture.ts";
import { ada } from "../runtime.fixture.ts";
import { deleteUnfinishedForks, ForkDraft } from "../side/fork-draft.ts";
import { Stage, TENANT, value } from "../stage.fixture.ts";
import { CREATION, RANDOM_IDS } from "../world.fixture.ts";
import { missingSessions } from "./missing-sessions.ts";

/** Keeps every note, as if the server was killed right after each deletion. */
class KilledLocator extends SessionLocator {
  override forget() {
    return Promise.resolve(DONE);
  }
}

async function killedStage() {
  const root = await mkdtemp(join(tmpdir(), "fermata-missing-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const locator = new KilledLocator(root);
  const stage = await Stage.open({ steps: { location: { locator, isLasting: true } } });
  const found = async () => value(await missingSessions(stage.world.store, locator));
  return { stage, found };
}

describe("P5: a session that the server deletes by itself, and is killed right after that", () => {
  it("is not taken for a lost one, if its maker has vanished", async () => {
    const { stage, found } = await killedStage();
    const { runtime, key, live } = await playedSession(stage, new PlayedAgents());
    await runtime.ownerVanished(live, ada);
    expect(await found()).toEqual({ missing: [], deleted: [key] });
    await runtime.shutDown(AbortSignal.abort());
  });

  it("is not taken for a lost one, if it had no agent", async () => {
    const { stage, found } = await killedStage();
    const agents = new PlayedAgents();
    agents.refusal = refusal("agent_breaker_open");
    await expect(playedSession(stage, agents)).rejects.toThrow();
    const { missing, deleted } = await found();
    expect([missing, deleted.length]).toEqual([[], 1]);
  });

  it("is not taken for a lost one, if it was a branch that was not finished", async () => {
    const { stage, found } = await killedStage();
    const { live } = await stage.created();
    const manifest = value(await stage.world.store.readManifest(live.key));
    const creation = { ...CREATION, workspaceCwd: stage.folder };
    const [given, left] = [RANDOM_IDS.session(), RANDOM_IDS.session()];
    for (const sessionId of [given, left]) {
      const draft = new ForkDraft(stage.world, { tenantId: TENANT, sessionId }, manifest);
      value(await draft.begin(creation, stage.folder, { actor: ada }));
      if (sessionId === given) await draft.discard();
    }
    expect(await deleteUnfinishedForks(stage.world)).toEqual({ ok: true, value: 1 });
    const { missing, deleted } = await found();
    expect(missing).toEqual([]);
    expect(new Set(deleted.map(({ sessionId }) => sessionId))).toEqual(new Set([given, left]));
  });
});

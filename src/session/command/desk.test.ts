import { describe, expect, it } from "vitest";
import { fail } from "../../core/result.ts";
import { NO_SKILLS } from "../../core/skill/skill.ts";
import { skill } from "../../core/slash/snapshot.fixture.ts";
import type { SessionStore } from "../../store/index.ts";
import { AWAY, altered } from "../altered-store.fixture.ts";
import { ada, NEVER } from "../runtime.fixture.ts";
import { value } from "../stage.fixture.ts";
import { codesIn, Desk, SlowShelf, verdictIn } from "./command.fixture.ts";

/** A command that is being carried out: its files are asked for, and do not come yet. */
async function inHand() {
  const shelf = new SlowShelf();
  const desk = await Desk.open(shelf);
  const release = Promise.withResolvers<void>();
  shelf.open = release.promise;
  const wanted = new Promise<void>((resolve) => {
    shelf.wanted = resolve;
  });
  const promptId = await desk.send("/reload_skills");
  await wanted;
  return { shelf, desk, promptId, release: release.resolve };
}

/** A store whose commits about a command's answer fail as often as it is told. */
function frail(fault: { failures: number }) {
  return (real: SessionStore) =>
    altered(real, {
      commit: async (key, term, commit) => {
        const isAnswer = commit.events.some((text) => text.includes('"type":"command_result"'));
        if (!isAnswer || fault.failures === 0) return real.commit(key, term, commit);
        fault.failures -= 1;
        return AWAY;
      },
    });
}

const by = () => ({ atMs: Date.now(), actor: ada });

describe("a command that is being carried out", () => {
  it("has no effect if it is taken back meanwhile", async () => {
    const { desk, promptId, release } = await inHand();
    const { key, session } = desk.live;
    value(await desk.runtime.submit(key, { type: "remove_prompt", ...by(), promptId }));
    release();
    const next = await desk.say("/skills");
    expect(codesIn(next)).toEqual(["skills_listed"]);
    const own = await desk.of(promptId);
    expect([codesIn(own), verdictIn(own)]).toMatchObject([[], { stopReason: "cancelled" }]);
    expect(desk.live.session.chosen).toEqual(session.chosen);
    await desk.runtime.shutDown(NEVER);
  });

  it("P2: has one verdict if the session is closed meanwhile", async () => {
    const { desk, promptId, release } = await inHand();
    value(await desk.runtime.close(desk.live.key, ada));
    release();
    const own = await desk.of(promptId);
    expect([codesIn(own), verdictIn(own)]).toMatchObject([[], { code: "session_closed" }]);
    expect(desk.live.session.chosen.skills.version).toBe(1);
    await desk.runtime.shutDown(NEVER);
  });

  it("is carried out once, however often the session looks at its queue", async () => {
    const { shelf, desk, promptId, release } = await inHand();
    let reads = 0;
    shelf.wanted = () => {
      reads += 1;
    };
    for (const displayName of ["one", "two", "three"]) {
      value(await desk.runtime.submit(desk.live.key, { type: "metadata", ...by(), displayName }));
    }
    release();
    expect(codesIn(await desk.of(promptId))).toEqual(["skills_reloaded"]);
    expect([reads, desk.live.session.chosen.skills.version]).toEqual([0, 2]);
    await desk.runtime.shutDown(NEVER);
  });
});

describe("a command whose store fails under its answer", () => {
  it.each([1, 3])("P1: is answered once and done once, after %i failures", async (failures) => {
    const fault = { failures: 0 };
    const shelf = new SlowShelf();
    const desk = await Desk.open(shelf, frail(fault));
    fault.failures = failures;
    shelf.skills = NO_SKILLS;
    const own = await desk.say("/reload_skills");
    expect(fault.failures).toBe(0);
    expect(codesIn(own)).toEqual(["skills_reloaded"]);
    expect(verdictIn(own)).toMatchObject({ stopReason: "end_turn" });
    expect(desk.live.session.chosen.skills).toEqual({ version: 2, hash: "none" });
    await desk.runtime.shutDown(NEVER);
  });

  it.each([1, 3])("P1: /new makes one session, after %i failures", async (failures) => {
    const fault = { failures: 0 };
    const desk = await Desk.open(new SlowShelf(), frail(fault));
    const before = await desk.sessionIds();
    fault.failures = failures;
    const own = await desk.say("/new");
    expect(fault.failures).toBe(0);
    expect(codesIn(own)).toEqual(["session_created"]);
    const made = (await desk.sessionIds()).filter((id) => !before.includes(id));
    expect(made).toHaveLength(1);
    expect(own).toContainEqual(
      expect.objectContaining({
        type: "command_result",
        data: expect.objectContaining({ data: { sessionId: made[0] } }),
      }),
    );
    await desk.runtime.shutDown(NEVER);
  });
});

describe("a session that has lost its snapshot", () => {
  it("P6: is told so by what needs it, and mended by a reload", async () => {
    const lost = new Set<string>();
    const desk = await Desk.open(new SlowShelf(), (real) =>
      altered(real, {
        readBlob: async (tenantId, hash) =>
          lost.has(hash)
            ? fail("session_corrupt", { reason: "it is damaged" })
            : real.readBlob(tenantId, hash),
      }),
    );
    const { skills } = desk.live.session.chosen;
    lost.add(skills.hash);
    desk.stage.world.known.forget(desk.live.key.tenantId);
    for (const line of ["/skills", "/skill review", "/help review", "/nonsense"]) {
      const answered = codesIn(await desk.say(line));
      expect([line, answered]).toEqual([line, ["session_corrupt"]]);
    }
    expect(codesIn(await desk.say("/status"))).toEqual(["status_shown"]);
    // Other files, since the same ones would come to the very text that cannot be read.
    desk.shelf.skills = { entries: [skill("zeta")], diagnostics: [] };
    expect(codesIn(await desk.say("/reload_skills"))).toEqual(["skills_reloaded"]);
    expect(codesIn(await desk.say("/skills"))).toEqual(["skills_listed"]);
    await desk.runtime.shutDown(NEVER);
  });
});

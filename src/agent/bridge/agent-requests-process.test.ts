import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { AGENT_FILE_CALLS_MAX } from "../../core/limits.ts";
import { Ears, Hand, pastOf, Stage } from "./bridge.fixture.ts";

/** Takes its time to record an act, and knows how many waited for it at once. */
class SlowRecorder extends Ears {
  most = 0;
  #waiting = 0;

  override async audit(act: string, details: Parameters<Ears["audit"]>[1]): Promise<void> {
    await super.audit(act, details);
    this.#waiting += 1;
    this.most = Math.max(this.most, this.#waiting);
    for (let turns = 0; turns < 20; turns += 1) await nextTurn();
    this.#waiting -= 1;
  }
}

describe("an agent that wants much of us", () => {
  it("P10: has its files read a few at a time, however many it asks for at once", async () => {
    const stage = new Stage();
    writeFileSync(join(stage.folder, "notes.txt"), "hello");
    const ears = new SlowRecorder();
    const connected = await stage.connect(stage.odd("reads-much"), {}, ears);
    if (!connected.ok) expect.fail(connected.refusal.code);
    const hand = new Hand(connected.value, ears);
    expect((await hand.turn("go")).verdict).toMatchObject({ stopReason: "end_turn" });
    expect(ears.audits).toHaveLength(40);
    expect(ears.most).toBeLessThanOrEqual(AGENT_FILE_CALLS_MAX);
  });
});

describe("an agent that wants something before it remembers", () => {
  it("P6: gets its file, and no word of a person, and the session comes back", async () => {
    const stage = new Stage();
    writeFileSync(join(stage.folder, "notes.txt"), "hello");
    const hand = await stage.connected(stage.odd("asks-to-load"), { past: pastOf("S", "Hi.") });
    expect(hand.session.context).toBe("loaded");
    await hand.turn("go");
    expect(hand.ears.text).toContain('{"content":"hello"}');
    expect(hand.ears.text).toContain('{"outcome":{"outcome":"cancelled"}}');
    expect(hand.ears.asks).toEqual([]);
    expect(hand.ears.audits).toMatchObject([{ act: "fs.read" }]);
  });
});

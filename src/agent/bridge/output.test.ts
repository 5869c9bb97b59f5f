import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../core/json.ts";
import { type Hand, Stage } from "./bridge.fixture.ts";

const CREATE = (line: string) =>
  `call terminal/create ${JSON.stringify({ sessionId: "sess-1", command: line })}`;

/** What was told of all terminals, piece by piece. */
function pieces({ ears }: Hand): string {
  return ears.updates.map(({ _meta }) => Object(_meta).terminal_output?.data ?? "").join("");
}

function exits({ ears }: Hand): readonly JsonObject[] {
  return ears.updates.flatMap(({ _meta }) => Object(_meta).terminal_exit ?? []);
}

describe("what the commands of a session write", () => {
  it("is told before the verdict of their turn, with how they ended", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    await hand.turn('run tool=c sh -c "echo one; exit 7"', "run echo two");
    expect(pieces(hand)).toBe("one\ntwo\n");
    expect(exits(hand)).toMatchObject([{ exit_code: 7 }, { exit_code: 0 }]);
  });

  it("is told before the verdict also if nobody has named the terminal yet", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    const isMade = 'run tool=c sh -c "until test -e made; do sleep 0.05; done"';
    await hand.turn(CREATE("echo one; touch made; sleep 1000"), isMade);
    expect(pieces(hand)).toBe("one\n");
  });

  it("P2: is shown though the agent tells of the same terminal by itself", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.odd("claims-terminal"));
    await hand.turn("go");
    expect(pieces(hand)).toBe("leaked\n");
    expect(exits(hand)).toMatchObject([{ exit_code: 7 }]);
    expect(JSON.stringify(hand.ears.updates)).not.toContain("all is well");
  });

  it.each(["run tool=c", "run"])(
    "is told as far as it came when the agent is killed: %s",
    async (run) => {
      const stage = new Stage();
      const hand = await stage.connected(stage.echo());
      hand.begin(`${run} sh -c "echo one; touch made; sleep 1000"`);
      await expect.poll(() => existsSync(join(stage.folder, "made"))).toBe(true);
      await hand.session.kill();
      await hand.ears.until(() => hand.ears.exits.length > 0);
      expect(pieces(hand)).toBe("one\n");
    },
  );

  it("is told after the turn too, for those that go on, and ends with the session", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    await hand.turn(CREATE("echo one; until test -e go; do sleep 0.1; done; echo two; sleep 1000"));
    await hand.turn("write ./go now");
    await hand.ears.until(() => pieces(hand).endsWith("two\n"));
    expect(pieces(hand)).toBe("one\ntwo\n");
    const calls = hand.ears.updates.filter(({ sessionUpdate }) => sessionUpdate === "tool_call");
    expect(new Set(calls.map(({ toolCallId }) => toolCallId)).size).toBe(calls.length);
    await hand.session.close();
    expect(exits(hand)).toEqual([]);
  });

  it("is seen of a command that was released at once", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    await hand.turn("run true");
    expect(hand.ears.updates.find(({ kind }) => kind === "execute")).toMatchObject({
      title: "true",
    });
    expect(exits(hand)).toMatchObject([{ exit_code: 0, signal: null }]);
  });

  it("P10: is bounded, however slow its listener is", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    let open = 0;
    let most = 0;
    hand.ears.slowly = async () => {
      open += 1;
      most = Math.max(most, open);
      await new Promise(setImmediate);
      open -= 1;
    };
    const { verdict } = await hand.turn('run tool=c sh -c "yes | head -c 50000000"');
    expect(verdict).toMatchObject({ stopReason: "end_turn" });
    expect(most).toBe(1);
    expect(pieces(hand).length).toBeLessThan(70_000);
    expect(hand.ears.updates.length).toBeLessThan(100);
  });
});

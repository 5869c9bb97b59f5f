import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { errorBody } from "../../core/error.ts";
import { AGENT_FAILURES_MAX } from "../../core/limits.ts";
import { CANCELLED } from "../../core/policy/ask.ts";
import { isAlive } from "../process/world.fixture.ts";
import { DEFAULT_LIMITS } from "../profile/profile.ts";
import { codeOf, Ears, pastOf, Stage, tenant } from "./bridge.fixture.ts";

const NEVER = () => new Promise<void>(() => {});

describe("an agent that dies", () => {
  it("in the middle of a turn: its session hears of it once, with its last words", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    const turnId = hand.begin("say half", "stderr out of memory", "crash 7");
    expect(await hand.verdict(turnId)).toBeNull();
    expect(hand.ears.text).toBe("half");
    expect(hand.ears.exits).toEqual([{ exitCode: 7, signalCode: null, message: "out of memory" }]);
  });

  it("P8: its last words are those of the turn at work, and not of one before it", async () => {
    const stage = new Stage();
    const profile = stage.echo();
    const hand = await stage.connected(profile);
    await hand.turn("stderr of before");
    const written = () => stage.pool.keeper.logs(tenant("acme"), profile).map(({ text }) => text);
    await expect.poll(written).toEqual(["of before"]);
    const turnId = hand.begin("stderr of now", "crash 7");
    expect(await hand.verdict(turnId)).toBeNull();
    expect(hand.ears.exits).toMatchObject([{ message: "of now" }]);
  });

  it("P8: its last words are told to none of several sessions, nor to one after them", async () => {
    const stage = new Stage();
    const profile = stage.echo();
    const one = await stage.connected(profile);
    const other = await stage.connected(profile);
    const third = await stage.connected(profile);
    expect(stage.pool.processCount).toBe(1);
    one.begin("stderr private", "hang");
    await third.session.close();
    const late = other.session.setMode("plan");
    other.begin("crash 7");
    await other.ears.until(() => other.ears.exits.length === 1);
    await one.ears.until(() => one.ears.exits.length === 1);
    expect([...one.ears.exits, ...other.ears.exits]).toMatchObject([
      { exitCode: 7, message: "" },
      { exitCode: 7, message: "" },
    ]);
    expect(JSON.stringify(await late)).not.toContain("private");
  });

  it("P8: its last words are not told to one that shared it until just now", async () => {
    const stage = new Stage();
    const profile = stage.echo();
    const one = await stage.connected(profile);
    const other = await stage.connected(profile);
    const { promise: isAlone, resolve: goOn } = Promise.withResolvers<void>();
    other.ears.answer = async () => {
      await isAlone;
      return { outcome: CANCELLED };
    };
    other.begin("ask", "crash 7");
    await other.ears.until(() => other.ears.asks.length === 1);
    await one.turn("stderr private");
    await one.session.close();
    goOn();
    await other.ears.until(() => other.ears.exits.length === 1);
    expect(other.ears.exits).toMatchObject([{ exitCode: 7, message: "" }]);
  });

  it("takes its children with it, even those that hold its output open", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    const script = ["fork-child holds-output", "fork-child detached holds-output"];
    const { text } = await hand.turn(...script);
    const pids = text.match(/\d+/g)?.map(Number) ?? [];
    expect(pids).toHaveLength(2);
    hand.begin("signal SIGKILL");
    await hand.ears.until(() => hand.ears.exits.length === 1);
    expect(pids.filter(isAlive)).toEqual([]);
  });

  it("P5: and whoever is killed for not stopping is gone with its mark", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo(["--ignore-eof", "--ignore-term"]));
    const turnId = hand.begin("say deaf", "ignore-cancel", "hang");
    await hand.ears.until(() => hand.ears.text === "deaf");
    hand.session.cancel();
    await hand.session.kill();
    expect(await hand.verdict(turnId)).toBeNull();
    expect(hand.ears.exits).toMatchObject([{ signalCode: "SIGKILL" }]);
    expect(stage.marks()).toEqual([]);
  });

  it("P5: is heard of, though a child that nobody can find holds its output open", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.odd("leaves-a-child"));
    hand.begin("hi");
    await hand.ears.until(() => hand.ears.exits.length === 1);
    const child = Number(readFileSync(join(stage.folder, "child.pid"), "utf8"));
    expect(child).toBeGreaterThan(1);
    onTestFinished(() => void process.kill(child));
    expect(hand.ears.exits).toMatchObject([{ exitCode: 5 }]);
    expect(isAlive(child)).toBe(true);
  });

  it("P5: is heard of, with all that it said, though a listener waits for its store", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    hand.ears.slowly = NEVER;
    hand.begin("say one", "say two", "crash 3");
    await hand.ears.until(() => hand.ears.exits.length === 1);
    expect(hand.ears.text).toBe("onetwo");
    await hand.session.kill();
    await stage.pool.shutdown();
    expect(stage.marks()).toEqual([]);
  });

  it("P5: can be killed while a listener still waits for its store", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    hand.ears.slowly = NEVER;
    hand.begin("say one", "hang");
    await hand.ears.until(() => hand.ears.text === "one");
    await hand.session.kill();
    expect(hand.ears.exits).toHaveLength(1);
    expect(stage.marks()).toEqual([]);
  });

  it("P5: is ended if it has closed its input, since it can be told nothing any more", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.odd("closes-its-input"));
    await expect.poll(() => existsSync(join(stage.folder, "closed"))).toBe(true);
    hand.begin("hi");
    await expect.poll(() => hand.ears.exits).toHaveLength(1);
    expect(stage.marks()).toEqual([]);
  });

  it("P5: may be replaced from within the news of its end", async () => {
    const stage = new Stage();
    const profile = stage.echo();
    const again = Promise.withResolvers<string>();
    class Returning extends Ears {
      override exit(exit: Parameters<Ears["exit"]>[0]) {
        super.exit(exit);
        const next = stage.connect(profile);
        void next.then((connected) => again.resolve(codeOf(connected)));
      }
    }
    const ears = new Returning();
    const connected = await stage.connect(profile, {}, ears);
    if (!connected.ok) expect.fail(connected.refusal.code);
    await connected.value.kill();
    expect(await again.promise).toBe("ok");
    expect(stage.starts).toBe(2);
  });

  it("takes no prompt any more: it would get no verdict", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    hand.begin("crash");
    await hand.ears.until(() => hand.ears.exits.length === 1);
    const heard = hand.kinds.length;
    const turn = { turnId: hand.turnId(), content: [], params: null };
    expect(codeOf(hand.session.prompt(turn))).toBe("agent_gone");
    expect(codeOf(hand.session.steer([]))).toBe("agent_gone");
    expect(codeOf(await hand.session.setMode("plan"))).toBe("agent_gone");
    hand.session.cancel();
    await hand.session.close();
    expect(hand.kinds.length).toBe(heard);
  });
});

describe("an agent that dies while a session is on its way to it", () => {
  it("P6: of loading that session: the next one is told instead, and it is said", async () => {
    const stage = new Stage();
    const past = pastOf("sess-1", "My name is Ada.", "Hello.");
    const flags = ["--die-on-load"];
    const hand = await stage.connected(stage.echo(flags), { past });
    expect(hand.session.context).toBe("seeded");
    expect(hand.session.offer.skipped).toEqual([
      {
        what: "the agent's own memory of this session",
        reason: expect.stringMatching(/session\/resume.*exit code 1/),
      },
    ]);
    expect((await hand.turn("recall")).text).toContain("My name is Ada.");
    expect(hand.kinds.slice(0, 2)).toEqual(["created", "connected"]);
    expect(hand.ears.exits).toEqual([]);
  });

  it("P6: of loading it, again and again: nobody else is kept from that agent", async () => {
    const stage = new Stage();
    const profile = stage.echo(["--die-on-load"], {
      limits: { ...DEFAULT_LIMITS, sessionsPerProcess: 1 },
    });
    for (let n = 0; n < AGENT_FAILURES_MAX + 1; n += 1) {
      const hand = await stage.connected(profile, { past: pastOf("sess-1", "Hello.") });
      expect(hand.session.context).toBe("seeded");
    }
    expect((await (await stage.connected(profile)).turn("say usable")).text).toBe("usable");
  });

  it("by a neighbour's fault: it goes to another process, and hears of no end", async () => {
    const stage = new Stage();
    const profile = stage.echo();
    const first = await stage.connected(profile);
    const past = {
      agentSessionId: null,
      async *messages() {
        await first.session.kill();
        yield { role: "user", text: "My name is Ada." } as const;
      },
    };
    const hand = await stage.connected(profile, { past });
    expect(stage.starts).toBe(2);
    expect(hand.kinds).toEqual(["created", "connected"]);
    expect(hand.ears.exits).toEqual([]);
    expect((await hand.turn("recall")).text).toContain("Ada");
  });

  it("of making a session: the order is refused with how it ended", async () => {
    const stage = new Stage();
    const init = '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}';
    const script = `read a; echo '${init}'; read a; echo 'out of disk' >&2; exit 9`;
    const refusal = await stage.refused(stage.command("sh", ["-c", script]));
    expect(refusal.code).toBe("agent_gone");
    expect(errorBody(refusal).error).toMatch(/exit code 9; it said: out of disk/);
  });

  it("is refused if its past cannot be read, and the room is free again", async () => {
    const stage = new Stage();
    const limits = { ...DEFAULT_LIMITS, sessionsPerProcess: 1 };
    const profile = stage.echo([], { limits });
    const past = {
      agentSessionId: null,
      async *messages() {
        yield { role: "user", text: "x" } as const;
        throw new Error("the disk is gone");
      },
    };
    const refusal = await stage.refused(profile, { past });
    expect(refusal.code).toBe("store_unavailable");
    expect(errorBody(refusal).error).toContain("the disk is gone");
    await stage.connected(profile);
    expect(stage.starts).toBe(1);
  });
});

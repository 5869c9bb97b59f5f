import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { errorBody } from "../../core/error.ts";
import { AGENT_LINE_BYTES_MAX } from "../../core/limits.ts";
import { isAlive } from "../process/world.fixture.ts";
import { DEFAULT_LIMITS } from "../profile/profile.ts";
import { pastOf, Stage } from "./bridge.fixture.ts";

describe("an agent that cannot be used is told of with the reason", () => {
  it("command not found", async () => {
    const stage = new Stage();
    const refusal = await stage.refused(stage.command("no-such-agent"));
    expect(refusal.code).toBe("agent_command_missing");
    expect(errorBody(refusal).error).toContain('"no-such-agent"');
  });

  it("not executable", async () => {
    const stage = new Stage();
    const file = join(stage.folder, "agent");
    writeFileSync(file, "#!/bin/sh\n");
    chmodSync(file, 0o644);
    expect((await stage.refused(stage.command(file))).code).toBe("agent_command_forbidden");
  });

  it("unknown profile: the known ones are named", async () => {
    const stage = new Stage();
    stage.echo();
    const refusal = await stage.refused("nobody");
    expect(refusal).toMatchObject({ code: "agent_unknown", details: { known: "echo" } });
  });

  it("exits at once, with its last words", async () => {
    const stage = new Stage();
    const script = "console.error('no key: set AGENT_KEY'); process.exit(3)";
    const refusal = await stage.refused(stage.command(process.execPath, ["-e", script]));
    expect(refusal).toMatchObject({
      code: "agent_exited_early",
      details: { exit: "exit code 3", said: "no key: set AGENT_KEY" },
    });
  });

  it("prints help, or anything else that is no message", async () => {
    const stage = new Stage();
    const refusal = await stage.refused(stage.echo(["--help-text"]));
    expect(refusal.code).toBe("agent_not_speaking");
    expect(errorBody(refusal).error).toMatch(/--acp.*echo: an agent/s);
    const chatty = stage.command("sh", ["-c", "echo Welcome; cat > /dev/null"], {
      limits: { ...DEFAULT_LIMITS, startMs: 300 },
    });
    expect(await stage.refused(chatty)).toMatchObject({
      code: "agent_not_speaking",
      details: { said: "Welcome" },
    });
  });

  it("never answers", async () => {
    const stage = new Stage();
    const profile = stage.echo(["--never-answer"], {
      limits: { ...DEFAULT_LIMITS, startMs: 300 },
    });
    expect(await stage.refused(profile)).toMatchObject({
      code: "agent_start_timeout",
      details: { limitMs: 300 },
    });
  });

  it("speaks another version", async () => {
    const stage = new Stage();
    expect(await stage.refused(stage.echo(["--protocol", "7"]))).toMatchObject({
      code: "agent_protocol_version",
      details: { version: 7, supported: 1 },
    });
  });

  it("wants a sign-in that the profile does not know, and is used if it does", async () => {
    const stage = new Stage();
    const refusal = await stage.refused(stage.echo(["--needs-auth"]));
    expect(refusal.code).toBe("agent_auth_required");
    const methodId = String(refusal.details.methods).split(", ")[0] ?? "";
    const hand = await stage.connected(stage.echo(["--needs-auth"], { auth: methodId }, "known"));
    expect((await hand.turn("say in")).text).toBe("in");
  });

  it("P5: none of them leaves a process or a mark", async () => {
    const stage = new Stage();
    await stage.refused(
      stage.echo(["--never-answer", "--ignore-eof", "--ignore-term"], {
        limits: { ...DEFAULT_LIMITS, startMs: 300 },
      }),
    );
    expect(stage.marks()).toEqual([]);
  });
});

describe("an agent that misbehaves on its line", () => {
  it("before it begins", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo(["--garbage-at-start"]));
    expect((await hand.turn("say fine")).text).toBe("fine");
  });

  it("P10: with lines that are no messages, and endless ones", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    const bytes = AGENT_LINE_BYTES_MAX + 10;
    const { text } = await hand.turn("garbage 100", `flood ${bytes}`, "stray", "say still here");
    expect(text).toBe("still here");
    const kinds = new Set(stage.faults.map(({ kind }) => kind));
    expect([...kinds].sort()).toEqual([
      "malformed_line",
      "overlong_line",
      "unknown_session",
      "unsolicited_answer",
    ]);
  });

  it("by asking for what nobody offers, and for sessions that are not its own", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    const { text } = await hand.turn(
      "call session/nonsense {}",
      'call fs/read_text_file {"sessionId":"another","path":"/etc/passwd"}',
      "notify vendor/hello {}",
    );
    expect(text).toContain("Method not found");
    expect(text).toContain('No session "another" here');
    expect(text).not.toContain("root:");
  });
});

describe("an agent that dies", () => {
  it("in the middle of a turn: its session hears of it once, with its last words", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    const turnId = hand.begin("say half", "stderr out of memory", "crash 7");
    expect(await hand.verdict(turnId)).toBeNull();
    expect(hand.ears.text).toBe("half");
    expect(hand.ears.exits).toEqual([{ exitCode: 7, signalCode: null, message: "out of memory" }]);
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

  it("while it loads a session: the order is refused; another way may be chosen", async () => {
    const stage = new Stage();
    const past = pastOf("sess-1", "Hello.");
    expect((await stage.refused(stage.echo(["--die-on-load"]), { past })).code).toBe("agent_gone");
    const flags = ["--die-on-load"];
    const seeded = await stage.connected(stage.echo(flags, { resume: "seed" }, "seeded"), { past });
    expect(seeded.session.context).toBe("seeded");
  });
});

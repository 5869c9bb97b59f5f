import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { errorBody } from "../../core/error.ts";
import { AGENT_LINE_BYTES_MAX } from "../../core/limits.ts";
import { DEFAULT_LIMITS } from "../profile/profile.ts";
import { StillTime } from "../still-time.fixture.ts";
import { Stage } from "./bridge.fixture.ts";
import { CLIENT_INFO } from "./start.ts";

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
    const chatty = stage.command("sh", ["-c", "echo Welcome; cat > /dev/null"]);
    const time = new StillTime();
    const refused = stage.refused(chatty);
    await expect.poll(() => stage.samples).toContain("Welcome");
    await time.pass(DEFAULT_LIMITS.startMs);
    expect(await refused).toMatchObject({
      code: "agent_not_speaking",
      details: { said: "Welcome" },
    });
  });

  it("repeats what it is sent", async () => {
    const stage = new Stage();
    const refusal = await stage.refused(stage.command("cat"));
    expect(refusal.code).toBe("agent_not_speaking");
    expect(errorBody(refusal).error).toContain("it repeats what it is sent");
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
    const hand = await stage.connected(
      stage.echo(["--needs-auth"], { auth: [{ method: methodId, ifSet: [] }] }, "known"),
    );
    expect((await hand.turn("say in")).text).toBe("in");
  });

  it("is signed in to by the first way of its profile that has what it needs", async () => {
    const stage = new Stage();
    const refusal = await stage.refused(stage.echo(["--needs-auth"]));
    const method = String(refusal.details.methods).split(", ")[0] ?? "";
    const auth = [
      { method: "other", ifSet: ["OTHER_KEY"] },
      { method, ifSet: ["ECHO_KEY", "THIRD_KEY"] },
    ];
    const ways = { auth, inherit: ["ECHO_KEY"], signIn: "Ask Ann." };
    const without = await stage.refused(stage.echo(["--needs-auth"], ways));
    expect(errorBody(without).error).toMatch(/"other" needs OTHER_KEY, .* ECHO_KEY or THIRD_KEY/);
    expect(errorBody(without).error).toContain("Ask Ann.");
    stage.env.ECHO_KEY = "a-key-for-echo";
    const hand = await stage.connected(stage.echo(["--needs-auth"], ways, "with-key"));
    expect((await hand.turn("say in")).text).toBe("in");
  });

  it("P11: fails with what the agent adds to its error, if it is small and no secret", async () => {
    const stage = new Stage();
    const facts = { method: "session/new", rpcCode: -32_603 };
    const refused = await stage.refused(stage.odd("refuses-with-data"));
    expect(refused).toMatchObject({ code: "agent_call_failed", details: facts });
    expect(errorBody(refused).data).toEqual({ details: "no room" });
    stage.env.MY_KEY = "sk-very-secret-value-0123456789";
    for (const trick of ["refuses-with-secret-data", "refuses-with-much-data"]) {
      const profile = stage.odd(trick, { env: { API_KEY: { from: "MY_KEY" } } });
      const other = await stage.refused(profile);
      expect(other).toMatchObject({ code: "agent_call_failed", details: facts });
      expect(other.details).not.toHaveProperty("data");
    }
  });

  it("fails at the sign-in that the profile names: with the agent's own reason", async () => {
    const stage = new Stage();
    const refusal = await stage.refused(
      stage.odd("fails-sign-in", { auth: [{ method: "key", ifSet: [] }] }),
    );
    expect(refusal.code).toBe("agent_auth_required");
    expect(errorBody(refusal).error).toMatch(/"key" failed: key expired on 1 May/);
  });

  it("speaks something else over the same kind of line", async () => {
    const stage = new Stage();
    const refusal = await stage.refused(stage.odd("speaks-mcp"));
    expect(refusal.code).toBe("agent_not_speaking");
    expect(errorBody(refusal).error).toContain("2024-11-05");
  });

  it("was not given what its profile refers to", async () => {
    const stage = new Stage();
    const env = { API_KEY: { from: "MY_KEY" } };
    const early = await stage.refused(stage.command("sh", ["-c", "exit 1"], { env }));
    expect(early.details.said).toContain("MY_KEY");
    const limits = { ...DEFAULT_LIMITS, startMs: 300 };
    const late = await stage.refused(stage.command("sleep", ["60"], { env, limits }));
    expect(late).toMatchObject({ code: "agent_start_timeout" });
    expect(late.details.said).toContain("MY_KEY");
  });

  it.each(["prints-secret", "refuses-with-secret"])(
    "P11: without the secrets that it was given, whole or in part: %s",
    async (how) => {
      const stage = new Stage();
      stage.env.MY_KEY = "sk-very-secret-value-0123456789";
      const profile = stage.odd(how, { env: { API_KEY: { from: "MY_KEY" } } });
      const told = JSON.stringify([errorBody(await stage.refused(profile)), stage.samples]);
      expect(told).toContain("[redacted]");
      expect(told).not.toContain("sk-v");
    },
  );

  it("P11: its secrets are guarded until it is gone, and no longer", async () => {
    const stage = new Stage();
    stage.env.MY_KEY = "sk-very-secret-value-0123456789";
    const env = { API_KEY: { from: "MY_KEY" } };
    await stage.refused(stage.command("no-such-agent", [], { env }));
    await stage.refused(stage.command("sh", ["-c", "exit 1"], { env }));
    expect(stage.secrets).toEqual([stage.env.MY_KEY, stage.env.MY_KEY]);
    expect(stage.goneSecrets).toEqual(stage.secrets);
    await stage.connected(stage.echo([], { env }));
    expect(stage.secrets).toHaveLength(3);
    expect(stage.goneSecrets).toHaveLength(2);
    await stage.pool.shutdown();
    expect(stage.goneSecrets).toEqual(stage.secrets);
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

describe("how we introduce ourselves", () => {
  it("is with the package's version", () => {
    const file = new URL("../../../package.json", import.meta.url);
    expect(CLIENT_INFO.version).toBe(JSON.parse(readFileSync(file, "utf8")).version);
  });
});

describe("an agent whose profile names a user", () => {
  const NOBODY = 65_534;

  it("P8: has that user's rights, as its commands have, or is not started at all", async () => {
    const stage = new Stage();
    const as = { uid: NOBODY, gid: NOBODY };
    if (process.getuid?.() !== 0) {
      const refusal = await stage.refused(stage.command("sh", [], as));
      expect(errorBody(refusal).error).toContain("may not start it as that user");
      return;
    }
    chmodSync(stage.folder, 0o777);
    const answer = (id: number, result: string) =>
      `read a; echo '{"jsonrpc":"2.0","id":${id},"result":${result}}'`;
    const command = `{"sessionId":"S","command":"id -u > commands-user"}`;
    const script = [
      answer(1, `{"protocolVersion":1,"agentInfo":{"version":"'"$(id -u):$(id -g)"'"}}`),
      answer(2, '{"sessionId":"S"}'),
      `echo '{"jsonrpc":"2.0","id":"t","method":"terminal/create","params":${command}}'`,
      "cat > /dev/null",
    ];
    const hand = await stage.connected(stage.command("sh", ["-c", script.join("; ")], as));
    expect(hand.session.offer.agentVersion).toBe(`${NOBODY}:${NOBODY}`);
    const user = join(stage.folder, "commands-user");
    await expect.poll(() => readFileSync(user, "utf8")).toBe(`${NOBODY}\n`);
    await stage.pool.shutdown();
    expect(stage.marks()).toEqual([]);
  });
});

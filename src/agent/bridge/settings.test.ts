import { describe, expect, it } from "vitest";
import { codeOf, Stage } from "./bridge.fixture.ts";

const currentOf = (options: readonly unknown[], id: string) =>
  options.map((option) => Object(option)).find((option) => option.id === id)?.currentValue;

describe("a session's settings", () => {
  it("are changed by options, by modes, and by the old call where nothing else is", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    const model = hand.session.offer.configOptions.find(({ category }) => category === "model");
    const [, second] = Object(model).options;
    expect(await hand.setModel({ modelId: second.value })).toBe("ok");
    expect((await hand.turn("whoami")).text).toContain(second.value);
    const modes = Object(hand.session.offer.modes).availableModes;
    expect(codeOf(await hand.session.setMode(modes[1].id))).toBe("ok");
    expect(codeOf(await hand.session.setMode("nonsense"))).toBe("agent_call_failed");
    const old = await stage.connected(
      stage.echo(["--no-config", "--with-legacy-model"], {}, "old"),
    );
    expect(await old.setModel({ modelId: second.value })).toBe("ok");
    expect(old.session.offer).toMatchObject({
      model: second.value,
      models: { currentModelId: second.value, availableModels: expect.any(Array) },
    });
  });

  it("that an agent does not have are said plainly", async () => {
    const stage = new Stage();
    const flags = ["--no-config", "--no-modes", "--no-fork", "--no-list"];
    const hand = await stage.connected(stage.echo(flags));
    expect(await hand.setModel({ modelId: "large" })).toBe("modelId agent_unsupported");
    expect(await hand.setModel({ reasoning: "high" })).toBe("reasoning agent_unsupported");
    expect(codeOf(await hand.session.setMode("plan"))).toBe("agent_unsupported");
    expect(codeOf(await hand.session.fork())).toBe("agent_unsupported");
    expect(codeOf(await stage.pool.calls.list(stage.order("echo"), true))).toBe(
      "agent_unsupported",
    );
    expect(codeOf(hand.session.steer([]))).toBe("agent_unsupported");
  });

  it("P8: are one value in the sessions of a process, until one of them is set", async () => {
    const stage = new Stage();
    const profile = stage.echo();
    const [one, other] = [await stage.connected(profile), await stage.connected(profile)];
    const before = other.session.offer.modes;
    expect(one.session.offer.modes).toBe(before);
    const modes = Object(before).availableModes;
    await one.session.setMode(modes[1].id);
    expect(one.session.offer.modes).toMatchObject({ currentModeId: modes[1].id });
    expect(other.session.offer.modes).toBe(before);
    await one.session.setMode(modes[0].id);
    expect(one.session.offer.modes).toEqual(before);
  });

  it("are known as the agent last told them, whoever changed them", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    const [, first, second] = Object(hand.session.offer.modes).availableModes;
    await hand.session.setMode(first.id);
    expect(hand.session.offer.modes).toMatchObject({ currentModeId: first.id });
    await hand.turn(`mode ${second?.id ?? first.id}`);
    expect(hand.session.offer.modes).toMatchObject({ currentModeId: second?.id ?? first.id });
  });

  it("are the later of an answer and an update that come in one breath", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.odd("changes-its-mind"));
    expect(currentOf(hand.session.offer.configOptions, "model")).toBe("a");
    expect(await hand.setModel({ modelId: "b" })).toBe("ok");
    expect(currentOf(hand.session.offer.configOptions, "model")).toBe("c");
  });

  it("may be copied and listed where the agent offers that", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    await hand.turn("say hello");
    const forked = await hand.session.fork();
    expect(forked).toMatchObject({ ok: true });
    const listed = await stage.pool.calls.list(stage.order("echo"), true);
    expect(listed.ok && listed.value.length).toBe(2);
  });

  it("are copied with the MCP servers that the agent can reach", async () => {
    const stage = new Stage();
    const reachable = { name: "files", command: "files-mcp", args: [], env: [] };
    const mcpServers = [reachable, { type: "http", name: "web", url: "http://127.0.0.1:1/" }];
    const toolbox = { name: "fermata", command: "/bin/true", args: [], env: [] };
    const hand = await stage.connected(stage.odd("forks"), { mcpServers, toolbox });
    expect(hand.session.offer.skipped.map(({ what }) => what)).toEqual(["MCP server web"]);
    expect(await hand.session.fork()).toEqual({ ok: true, value: JSON.stringify([reachable]) });
  });
});

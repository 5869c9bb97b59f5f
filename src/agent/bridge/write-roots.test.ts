import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Stage } from "./bridge.fixture.ts";

/** A folder outside of the workspace. */
function outside(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "fermata-outside-")));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

describe("a folder that the operator has opened to agents", () => {
  it("can be written and read there, and nowhere beside it", async () => {
    const stage = new Stage();
    const folder = outside();
    const root = join(folder, "shared");
    mkdirSync(root);
    symlinkSync(folder, join(root, "up"));
    symlinkSync(root, join(stage.folder, "link"));
    stage.roots = [root];
    const hand = await stage.connected(stage.echo());
    const { text } = await hand.turn(
      `write ${root}/new/a.txt hello`,
      `read ${root}/new/a.txt`,
      "write ./link/b.txt by a link",
      `write ${folder}/c.txt beside`,
      `write ${root}/up/d.txt through a link`,
      `write ${root}/../e.txt climbing`,
    );
    expect(readFileSync(join(root, "new/a.txt"), "utf8")).toBe("hello");
    expect(text).toContain(`read ${root}/new/a.txt: hello`);
    expect(readFileSync(join(root, "b.txt"), "utf8")).toBe("by a link");
    expect(text.match(/is not inside the workspace/g)).toHaveLength(3);
    // And the audit tells them from files of the workspace.
    const recorded = hand.ears.audits.map(({ act, details }) => `${act} ${details.path}`);
    const [a, b] = [`${root}/new/a.txt`, `${root}/b.txt`];
    expect(recorded).toEqual([`fs.write ${a}`, `fs.read ${a}`, `fs.write ${b}`]);
    // People are asked about real paths.
    expect(hand.ears.accesses).toEqual([
      { action: "write", path: `${root}/new/a.txt` },
      { action: "read", path: `${root}/new/a.txt` },
      { action: "write", path: `${root}/b.txt` },
    ]);
  });

  it("is told to an agent that takes further directories", async () => {
    const stage = new Stage();
    const root = outside();
    stage.roots = [root];
    const agent = new URL("keeping-agent.fixture.ts", import.meta.url).pathname;
    const args = [agent, "additionalDirectories"];
    await stage.connected(stage.command(process.execPath, args));
    const calls = readFileSync(join(stage.folder, "calls.jsonl"), "utf8");
    expect(calls).toContain(`"additionalDirectories":["${root}"]`);
  });
});

describe("an ask to write where the server does not", () => {
  const elsewhere = "ask kind=edit path=/elsewhere/a.txt";

  it("says so, if the agent is one that writes by the server", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo([], { writes: "server" }));
    await hand.turn(elsewhere, "ask kind=edit path=a.txt", "ask kind=execute command=ls");
    expect(hand.ears.asks.map(({ outside }) => outside)).toEqual([
      "/elsewhere/a.txt",
      undefined,
      undefined,
    ]);
    stage.roots = ["/"];
    await stage.pool.dismiss(stage.order("echo").tenantId);
    const other = await stage.connected("echo");
    await other.turn(elsewhere);
    expect(other.ears.asks[0]).not.toHaveProperty("outside");
  });

  it("P8: is an ask of the turn in which the agent sent it, however soon that ends", async () => {
    const stage = new Stage();
    const agent = new URL("keeping-agent.fixture.ts", import.meta.url).pathname;
    const profile = stage.command(process.execPath, [agent, "hasty"], { writes: "server" });
    const hand = await stage.connected(profile);
    const { ears } = hand;
    let asksAtEnd = -1;
    const status = ears.status.bind(ears);
    ears.status = (report) => {
      if (report.status === "turn_complete") asksAtEnd = ears.asks.length;
      status(report);
    };
    hand.begin("hello");
    await ears.until(() => asksAtEnd >= 0);
    expect(asksAtEnd).toBe(1);
  });

  it("is left to people until the agent has written by the server", async () => {
    const stage = new Stage();
    const hand = await stage.connected(stage.echo());
    await hand.turn(elsewhere, "write ./a.txt hello", elsewhere);
    expect(hand.ears.asks.map(({ outside }) => outside)).toEqual([undefined, "/elsewhere/a.txt"]);
  });
});

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { run } from "./data-folder.fixture.ts";
import { prices } from "./prices.ts";

/** A price file, in a home without profiles and settings of its own. */
function priceFile(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "fermata-prices-"));
  vi.stubEnv("FERMATA_HOME", folder);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });
  const path = join(folder, "prices.json");
  writeFileSync(path, text);
  return path;
}

describe("fermata prices", () => {
  it("shows all prices, their day and their source", async () => {
    const own = { asOf: "2027-01-02", source: "our contract" };
    const models = { "big-*": { input: 1_250_000, output: 0 } };
    const file = priceFile(JSON.stringify({ ...own, models }));
    const { shown, exitCode } = await run(prices, "--prices", file);
    expect(exitCode).toBe(0);
    expect(shown).toMatch(/^big-\* +1\.25 .* your file$/m);
    expect(shown).toMatch(/^gpt-5 .* default$/m);
    expect(shown).toContain("your file of 2027-01-02: our contract; defaults of 2026-");
  });

  it("checks which price each model of an agent meets, and fails if one has none", async () => {
    const row = { perTurn: 5 };
    const file = priceFile(JSON.stringify({ defaults: false, models: { "echo-l*": row } }));
    const { shown, exitCode } = await run(prices, "check", "echo", "--prices", file);
    expect(exitCode).toBe(1);
    expect(shown).toMatch(/^echo +echo-small +NO PRICE +-$/m);
    expect(shown).toMatch(/^echo +echo-large +echo-l\* +your file$/m);
    expect(shown).toContain("Add a row for what has no price");
    const json = await run(prices, "check", "echo", "--json");
    expect(json.exitCode).toBe(0);
    expect(JSON.parse(json.shown).models[0]).toMatchObject({ agent: "echo", row: "echo" });
  });

  it("checks agents as the user that a server with the same options would give them", async () => {
    const file = priceFile("{}");
    const folder = dirname(file);
    const bad = await run(prices, "check", "echo", "--agent-user", "no-such-user-here");
    expect(bad).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("no-such-user-here"),
    });
    writeFileSync(join(folder, "config.json"), '{"agent-user":"no-such-user-here"}');
    expect((await run(prices, "check", "echo")).stderr).toContain("no-such-user-here");
  });

  it.each([
    [["--agent-user", "x"], 2, '--agent-user is for "check"'],
    [["cheque"], 2, 'there is no "cheque"; see'],
    [["check", "nosuch"], 1, 'There is no agent "nosuch"; known are: '],
    [["--prices", "/nosuch"], 1, "--prices"],
    [["--price", "x"], 2, "see"],
  ])("%s is refused with a reason", async (args, code, reason) => {
    priceFile("{}");
    const { exitCode, stderr } = await run(prices, ...args);
    expect(exitCode).toBe(code);
    expect(stderr).toContain(reason);
  });
});

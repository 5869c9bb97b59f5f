import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { AGENT_SEED_CHARS_MAX, AGENT_SEED_MESSAGES_MAX } from "../../core/limits.ts";
import type { PastMessage } from "../agent.ts";
import { pastOf, Stage } from "./bridge.fixture.ts";
import { seedOf } from "./session-opening.ts";

const KEEPING_AGENT = fileURLToPath(new URL("keeping-agent.fixture.ts", import.meta.url));

async function* newestFirst(...messages: readonly PastMessage[]): AsyncGenerator<PastMessage> {
  yield* messages;
}

async function seedText(...messages: readonly PastMessage[]): Promise<string> {
  return String((await seedOf(newestFirst(...messages)))?.text);
}

describe("the seed of a fresh agent", () => {
  it("P6: tells the conversation in its order, marked as what was said before", async () => {
    const text = await seedText(
      { role: "agent", text: "Done." },
      { role: "user", text: "Rename it." },
    );
    expect(text).toMatch(/^<conversation_so_far>\n/);
    expect(text).toContain("User: Rename it.\n\nYou: Done.");
    expect(text).toMatch(/<\/conversation_so_far>$/);
    expect(text).not.toContain("left out");
  });

  it("is nothing where nothing was said", async () => {
    expect(await seedOf(newestFirst())).toBeNull();
  });

  it("P10: keeps the newest messages that fit, whole, and says that there were more", async () => {
    const long = "x".repeat(AGENT_SEED_CHARS_MAX - 100);
    const text = await seedText(
      { role: "agent", text: "newest" },
      { role: "user", text: long },
      { role: "agent", text: "y".repeat(200) },
      { role: "user", text: "oldest" },
    );
    expect(text).toContain("newest");
    expect(text).toContain(long);
    expect(text).not.toContain("yyy");
    expect(text).not.toContain("oldest");
    expect(text).toContain("[Earlier messages were left out.]");
  });

  it("cuts a newest message that alone is too long", async () => {
    const text = await seedText({ role: "user", text: "z".repeat(AGENT_SEED_CHARS_MAX * 2) });
    expect(text.length).toBeLessThan(AGENT_SEED_CHARS_MAX + 1_000);
    expect(text).toContain("zzz […]");
  });

  it("cuts it between characters, and never through one", async () => {
    const text = await seedText({ role: "user", text: `x${"😀".repeat(AGENT_SEED_CHARS_MAX)}` });
    expect(text.isWellFormed()).toBe(true);
    expect(text).toContain("😀 […]");
  });

  it("reads no further than it needs", async () => {
    let read = 0;
    async function* endless(): AsyncGenerator<PastMessage> {
      for (;;) {
        read += 1;
        yield { role: "user", text: "a" };
      }
    }
    await seedOf(endless());
    expect(read).toBe(AGENT_SEED_MESSAGES_MAX + 1);
  });
});

describe("an agent that answers a restore with -32000", () => {
  it("P6: gets a new session with the past, in the same process", async () => {
    const stage = new Stage();
    const auth = [{ method: "page", ifSet: ["PAGE_KEY"] }];
    const args = [KEEPING_AGENT, "resume", "forgets"];
    const profile = stage.command(process.execPath, args, { auth });
    const hand = await stage.connected(profile, { past: pastOf("kept-0", "Hello", "Hi") });
    expect(hand.session.context).toBe("seeded");
    const calls = readFileSync(join(stage.folder, "calls.jsonl"), "utf8");
    expect(calls.match(/session\/\w+/g)).toEqual(["session/resume", "session/new"]);
    await stage.connected(profile);
    expect(stage.starts).toBe(1);
  });
});

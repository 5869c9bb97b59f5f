import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "./files.ts";
import { filesOfOnePrompt } from "./prompt-path.ts";
import { promptStops } from "./prompt-stops.ts";

/**
 * Falls with each commit that makes the way shorter. It rises only with a new stop on that way:
 * policy, audience, held text, monthly budgets and the mode and model that the agent reports
 * brought it from 130 to 144, fair shares and the check of the caller by itself to 147, who has
 * read the 202 of a prompt to 149, shares of connections and streams to 152, the title that the
 * first prompt gives and empty sessions to 154, failpoints, which authors of stores share with
 * those of SQLite, to 155, the memory of open turns and shares of the disk and of streams to 158,
 * what is repeated for clients that do not know an update to 159, what an agent that asks for a
 * sign-in is told of to 160, how each agent tells its usage, what that costs and by which name its
 * model has a price to 166, what the agent offers, for clients that load while it is away, to 167,
 * reads in the thread that writes, which are seen there and were not in a thread of their own, and
 * the listener that is there before the server, to 169, words that go on as one event of the turn,
 * and what a stream reads of its chunks, to 171, the words by which a turn is found to 174, what a
 * session is named by the words of its first prompt, and who else is named so, to 178, the workflow
 * and the children that every session may have, to 181. On a machine with much else to do seven
 * more were seen once.
 */
const FILES_MAX = 188;

it("the way of a prompt is measured by a real one, from the network to the disk", async () => {
  const files = await filesOfOnePrompt(ROOT);
  // In the main thread, in the thread that writes, and what only a prompt runs.
  expect(files).toEqual(expect.arrayContaining(["core/session/decide.ts", "wire/sse.ts"]));
  expect(files).toContain("store/sqlite/writer.ts");
  // The agent is another process; no session is made or ended meanwhile.
  expect(files.filter((path) => path.startsWith("agent/builtin/"))).toEqual([]);
  expect(files).not.toContain("cli/main.ts");
  expect(files.length).toBeLessThanOrEqual(FILES_MAX);
  // The table of docs/ARCHITECTURE.md tells of files that a prompt really passes.
  const documented = promptStops(readFileSync(join(ROOT, "docs/ARCHITECTURE.md"), "utf8"));
  expect(files).toEqual(expect.arrayContaining(documented.map(({ path }) => path)));
});

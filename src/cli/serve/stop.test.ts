import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { SIGNAL_ECHO_MS_MAX } from "../../core/limits.ts";
import { withoutEchoes } from "./stop.ts";

it("takes one Ctrl-C for one, though npm passes it on again, and the next for another", () => {
  let nowMs = 5_000;
  let count = 0;
  const press = withoutEchoes(
    () => {
      count += 1;
    },
    () => nowMs,
  );
  press();
  press();
  nowMs += SIGNAL_ECHO_MS_MAX - 1;
  press();
  expect(count).toBe(1);
  nowMs += 1;
  press();
  expect(count).toBe(2);
});

it("P5: ends though the program that reads its log takes no more lines", async () => {
  const unread = fileURLToPath(new URL("unread.fixture.ts", import.meta.url));
  const server = spawn(process.execPath, [unread]);
  onTestFinished(() => void server.kill("SIGKILL"));
  expect(await once(server, "exit")).toEqual([3, null]);
});

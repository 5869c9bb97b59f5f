import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { SecretGuard } from "../../store/index.ts";
import { value } from "../../store/kit/expect.ts";
import { ACME } from "../../store/kit/sample.ts";
import { readServeOptions } from "./read-options.ts";
import { openStore } from "./store.ts";

it("tells the log where the files of a server's store are, and nobody else", async () => {
  const folder = mkdtempSync(join(tmpdir(), "fermata-store-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const logged: string[] = [];
  const log = (what: string, about: object) => logged.push(`${what} ${JSON.stringify(about)}`);
  const chosen = await value(readServeOptions([], { FERMATA_HOME: folder }));
  const store = await value(openStore(chosen, folder, new SecretGuard(), { log }, {}));
  onTestFinished(async () => void (await store.dispose()));
  rmSync(join(folder, "sessions"), { recursive: true });
  const answer = await store.readDocument(ACME, "members", "all");
  expect(answer).toMatchObject({ refusal: { code: "store_unavailable" } });
  expect(JSON.stringify(answer)).not.toContain(folder);
  expect(logged.filter((line) => line.startsWith("store failed"))).toEqual([
    expect.stringContaining(folder),
  ]);
});

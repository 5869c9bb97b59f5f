import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { rolldown } from "rolldown";
import { describe, expect, onTestFinished } from "vitest";
import { findProgram, PROGRAMS, whyNoProgram } from "../../scripts/programs.js";
import type { Fermata } from "../../src/client/index.ts";
import { itWhere } from "../../src/platform/machine.fixture.ts";
import { ROOT } from "../house/files.ts";
import { ServeProcess } from "../server/serve.fixture.ts";

const executablePath = findProgram(PROGRAMS.chromium);

const PAGE = `<!doctype html>
<title>A page</title>
<script type="module">
  import { Fermata } from "/client.js";
  globalThis.Client = Fermata;
</script>`;

/** A folder with a page and the client as one file, as a page loads it. */
async function pageFolder(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "fermata-client-page-"));
  const web = join(folder, "web");
  mkdirSync(web);
  const input = join(ROOT, "src/client/index.ts");
  const bundle = await rolldown({ input, platform: "browser", logLevel: "silent" });
  await bundle.write({ format: "esm", minify: true, file: join(web, "client.js") });
  await bundle.close();
  writeFileSync(join(web, "index.html"), PAGE);
  return folder;
}

/** What the program in the page leaves for the test. */
interface InPage {
  Client: typeof Fermata;
  hasBegun: boolean;
  session: Awaited<ReturnType<Fermata["sessions"]["create"]>>;
  view: ReturnType<InPage["session"]["view"]>;
}

describe("the client in a browser", () => {
  itWhere(
    whyNoProgram(PROGRAMS.chromium),
    "P2, P3: shows turns, and goes on over a kill -9 of its server",
    async () => {
      const folder = await pageFolder();
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const server = await ServeProcess.start({ flags: ["--web", join(folder, "web")] });
      onTestFinished(() => server.end());
      const browser = await chromium.launch({
        ...(executablePath !== null && { executablePath }),
        args: ["--no-sandbox", ...(process.env.FERMATA_CHROMIUM_FLAGS?.split(" ") ?? [])],
      });
      try {
        const page = await browser.newPage();
        const faults: string[] = [];
        page.on("pageerror", (error) => faults.push(String(error)));
        await page.goto(server.url);
        await page.waitForFunction(() => (globalThis as unknown as InPage).Client !== undefined);
        const first = await page.evaluate(async (url) => {
          const inPage = globalThis as unknown as InPage;
          inPage.session = await new inPage.Client({ url }).sessions.create();
          inPage.view = inPage.session.view();
          const turn = await inPage.session.prompt("say one\ntool\nsay two");
          let text = "";
          for await (const part of turn) if (part.type === "text") text += part.text;
          return { text, verdict: await turn.verdict };
        }, server.url);
        expect(first).toMatchObject({ text: "onetwo", verdict: { kind: "complete", text: "two" } });
        const hanging = page.evaluate(async () => {
          const inPage = globalThis as unknown as InPage;
          const turn = await inPage.session.prompt("say begun\nhang");
          for await (const part of turn) if (part.type === "text") inPage.hasBegun = true;
          const next = await inPage.session.prompt("say again");
          return [await turn.verdict, await next.verdict];
        });
        await page.waitForFunction(() => (globalThis as unknown as InPage).hasBegun);
        await server.kill("SIGKILL");
        await server.restart();
        expect(await hanging).toMatchObject([
          { kind: "error", code: "SERVER_RESTART", text: "begun" },
          { kind: "complete", text: "again" },
        ]);
        const shown = await page.evaluate(async () => {
          const { view } = globalThis as unknown as InPage;
          const state = await view.until(({ turns }) => turns[2]?.verdict != null);
          return state.turns.map(({ prompt, verdict }) => [prompt, verdict?.kind]);
        });
        expect(shown).toEqual([
          ["say one\ntool\nsay two", "complete"],
          ["say begun\nhang", "error"],
          ["say again", "complete"],
        ]);
        expect(faults).toEqual([]);
      } finally {
        await browser.close();
      }
    },
    120_000,
  );
});

import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Fermata, type ReceivedEvent, type VerdictValue } from "../../src/client/index.ts";
import { ServeProcess } from "../server/serve.fixture.ts";

/** How often the server is killed; `FERMATA_CLIENT_KILLS=100` finds more. */
const KILLS = Number(process.env.FERMATA_CLIENT_KILLS ?? 6);

const isVerdict = ({ type }: ReceivedEvent) => type === "turn_complete" || type === "turn_error";

/** A turn that is long enough to be interrupted, and ends by itself where it is not. */
const script = (n: number) => [`say a${n}`, "sleep 20", "tool", `say b${n}`, "sleep 20"].join("\n");

describe("kill -9 of the server, again and again", () => {
  it(
    `P1, P2, P3: the same client objects go on, over ${KILLS} kills: nothing lost, nothing twice`,
    async () => {
      const server = await ServeProcess.start();
      const leaving = new AbortController();
      try {
        const fermata = new Fermata({ url: server.url });
        const session = await fermata.sessions.create();
        const events: ReceivedEvent[] = [];
        let resyncs = 0;
        const following = (async () => {
          for await (const item of session.events({ signal: leaving.signal })) {
            if (item.kind === "event") events.push(item.event);
            if (item.kind === "resynced") resyncs += 1;
          }
        })().catch((error) => error);
        const view = session.view();
        const verdicts = new Map<string, VerdictValue>();
        const texts = new Map<string, string>();
        for (let n = 0; n < KILLS; n += 1) {
          // Before, while and after the prompt is admitted, and in the middle of its turn.
          const killing = pause((n * 37) % 110).then(() => server.kill("SIGKILL"));
          const prompting = session.prompt(script(n), { key: `prompt ${n}` });
          await killing;
          await server.restart();
          const turn = await prompting;
          let text = "";
          for await (const part of turn) if (part.type === "text") text += part.text;
          verdicts.set(turn.promptId, await turn.verdict);
          texts.set(turn.promptId, text);
          const again = await session.prompt(script(n), { key: `prompt ${n}` });
          expect(again.promptId).toBe(turn.promptId);
        }
        const last = await session.prompt("say the end");
        await last.verdict;
        const isTold = () => events.some((one) => isVerdict(one) && one.promptId === last.promptId);
        await expect.poll(isTold).toBe(true);
        leaving.abort();
        await following;

        expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
        expect(resyncs).toBe(0);
        expect(verdicts.size).toBe(KILLS);
        for (const [promptId, verdict] of verdicts) {
          const told = events.filter((one) => isVerdict(one) && one.promptId === promptId);
          expect(told).toHaveLength(1);
          const isDone = verdict.kind === "complete";
          expect(told[0]?.type).toBe(isDone ? "turn_complete" : "turn_error");
          if (!isDone) expect(verdict.code).toBe("SERVER_RESTART");
          const n = [...verdicts.keys()].indexOf(promptId);
          const whole = `a${n}b${n}`;
          if (isDone) expect(texts.get(promptId)).toBe(whole);
          else expect(whole.startsWith(texts.get(promptId) ?? "nothing")).toBe(true);
        }
        const { turns } = await view.until((state) => {
          return state.turns.at(-1)?.verdict?.text === "the end";
        });
        expect(turns.map(({ promptId }) => promptId)).toEqual([...verdicts.keys(), last.promptId]);
        view.dispose();
      } finally {
        leaving.abort();
        await server.end();
      }
    },
    60_000 + KILLS * 10_000,
  );
});

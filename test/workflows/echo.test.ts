// Each bundled workflow on a real server with `echo`. Echo repeats what it is told, and so what the
// words after the name have in a fence: with that it completes each stage.

import { describe, expect, it } from "vitest";
import { sharedServer } from "../server/serve.fixture.ts";

/** The stages that ended, in their order, each with its outcome; without those that begin again. */
function stagesIn(log: string): readonly string[] {
  const ended = log.matchAll(/"type":"stage_ended","data":(\{[^\n]*?\})[,}]/g);
  const all = [...ended].map(([, data = ""]) => {
    const [, stages = ""] = /"stages":\["([^\]]+)"\]/.exec(data) ?? [];
    const [, outcome = ""] = /"outcome":"(\w+)"/.exec(data) ?? [];
    return `${stages.replaceAll('","', "+")} ${outcome}`;
  });
  return all.filter((one) => !one.endsWith(" interrupted"));
}

/** What the log says when an execution begins and when it has ended, of the stage that is first. */
const boundaries = (stage: string): readonly RegExp[] =>
  ["stage_started", "stage_ended"].map((type) => {
    return new RegExp(`"type":"${type}","data":\\{[^{}]*"stages":\\["${stage}"`);
  });

const fenced = (result: object) => `The wish\n\`\`\`json\n${JSON.stringify(result)}\n\`\`\``;

const AUTHORIZED = { authorization: "Bearer secret" };
const JSON_BODY = { ...AUTHORIZED, "content-type": "application/json" };

describe("with echo", { timeout: 240_000 }, () => {
  const server = sharedServer({ flags: ["--enable-session-shell", "--token", "secret"] });

  const posted = async (path: string, body: object) => {
    const options = { method: "POST", headers: JSON_BODY, body: JSON.stringify(body) };
    const response = await fetch(`${server().url}${path}`, options);
    const text = await response.text();
    expect(response.ok, text).toBe(true);
    return JSON.parse(text);
  };

  /** The log of a session up to where these words stand. */
  const until = async (words: RegExp, sessionId: string): Promise<string> => {
    const leave = AbortSignal.timeout(60_000);
    const headers = { ...AUTHORIZED, "last-event-id": "0" };
    const events = `${server().url}/session/${sessionId}/events`;
    const response = await fetch(events, { headers, signal: leave });
    let text = "";
    try {
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk).toString();
        if (words.test(text)) return text;
      }
    } catch {
      // The end of its patience is told with what there is.
    }
    expect(text.slice(-4_000)).toMatch(words);
    return text;
  };

  /** Starts a workflow in a new session. */
  const begun = async (name: string, words: string): Promise<string> => {
    const { sessionId } = await posted("/session", { sessionScope: "thread" });
    const prompt = [{ type: "text", text: `/workflow start ${name} ${words}` }];
    await posted(`/session/${sessionId}/prompt`, { prompt });
    return sessionId;
  };

  const started = async (name: string, words: string, last: RegExp) => {
    return until(last, await begun(name, words));
  };

  /** The same, on a server that is killed at each of these words. */
  const killed = async (name: string, words: string, boundaries: readonly RegExp[]) => {
    const sessionId = await begun(name, words);
    for (const boundary of boundaries) {
      await until(boundary, sessionId);
      await server().kill("SIGKILL");
      await server().restart();
      await posted(`/session/${sessionId}/load`, {});
    }
    return until(/"type":"workflow_ended"/, sessionId);
  };

  it("plan-implement-review plans, implements, reviews and ends", async () => {
    const all = {
      ...{ goal: "A flag", steps: ["Add it"], check: "npm test" },
      ...{ summary: "Added", files: ["main.ts"], checked: "it passes" },
      ...{ verdict: "pass", findings: [] },
    };
    const log = await started("plan-implement-review", fenced(all), /"type":"workflow_ended"/);
    expect(stagesIn(log)).toEqual(["plan ok", "implement ok", "review ok"]);
  });

  it("plan-implement-review goes back twice, and then waits for a person", async () => {
    const all = {
      ...{ goal: "A flag", steps: ["Add it"], check: "npm test" },
      ...{ summary: "Added", files: ["main.ts"], checked: "it passes" },
      ...{ verdict: "revise", findings: ["no test"] },
    };
    const log = await started("plan-implement-review", fenced(all), /third review/);
    expect(stagesIn(log)).toEqual([
      ...["plan ok", "implement ok", "review ok", "implement ok", "review ok"],
      ...["implement ok", "review ok"],
    ]);
  });

  it("fan-out explores in one turn, and compares", async () => {
    const all = {
      ...{ first: "Docs", second: "Code", third: "Tests", confidence: "low" },
      ...{ answer: "The disk", findings: ["a.ts:1"], reasons: ["a.ts:1"] },
    };
    const log = await started("fan-out", fenced(all), /"type":"workflow_ended"/);
    const ended = stagesIn(log);
    expect(ended.at(0)).toBe("split ok");
    expect(ended.at(-1)).toBe("compare ok");
    expect(ended.join()).toContain("explore-first+explore-second+explore-third ok");
  });

  it("fix-until-green runs the command before each round, until it succeeds", async () => {
    const command = "test -e green || { touch green; echo still red; exit 1; }";
    const log = await started("fix-until-green", command, /"type":"workflow_ended"/);
    expect(stagesIn(log)).toEqual(["fix ok", "fix skipped"]);
    expect(log).toContain("still red");
  });

  it("P2: plan-implement-review comes to the same end after kill -9 at each boundary", async () => {
    const all = {
      ...{ goal: "A flag", steps: ["Add it"], check: "npm test" },
      ...{ summary: "Added", files: ["main.ts"], checked: "it passes" },
      ...{ verdict: "pass", findings: [] },
    };
    const log = await killed("plan-implement-review", fenced(all), [
      ...boundaries("plan"),
      ...boundaries("implement"),
      ...boundaries("review").slice(0, 1),
    ]);
    expect(stagesIn(log)).toEqual(["plan ok", "implement ok", "review ok"]);
  });

  it("P2: fan-out does, and its group is one turn", async () => {
    const all = {
      ...{ first: "Docs", second: "Code", third: "Tests", confidence: "low" },
      ...{ answer: "The disk", findings: ["a.ts:1"], reasons: ["a.ts:1"] },
    };
    const log = await killed("fan-out", fenced(all), [
      ...boundaries("split"),
      ...boundaries("explore-first"),
      ...boundaries("compare").slice(0, 1),
    ]);
    const group = "explore-first+explore-second+explore-third ok";
    expect(stagesIn(log)).toEqual(["split ok", group, "compare ok"]);
  });

  it("P2: fix-until-green does, and runs its command again", async () => {
    const command = "echo x >> runs; test $(wc -l < runs) -ge 4";
    const log = await killed("fix-until-green", command, boundaries("fix"));
    const ended = stagesIn(log);
    expect(ended.at(-1)).toBe("fix skipped");
    expect(new Set(ended.slice(0, -1))).toEqual(new Set(["fix ok"]));
  });
});

import { describe, expect, it } from "vitest";
import { parseSessionId, type SessionId } from "../../core/id.ts";
import { drainTeller, lastWords } from "./farewell.ts";

function id(digit: number): SessionId {
  const sessionId = parseSessionId(`${`${digit}`.repeat(8)}-0000-4000-8000-000000000000`);
  if (sessionId === null) throw new Error("it is no id");
  return sessionId;
}

describe("a server that is told to stop", () => {
  it("says at once what it waits for, how long, and how to end that", () => {
    const said: string[] = [];
    const tell = drainTeller(10_000, (sentence) => said.push(sentence));
    tell({ working: [1, 2, 3, 4, 5].map(id), waitingTurns: 1 });
    expect(said).toEqual([
      "stopping, but first waiting up to 10 s for 5 turns " +
        "(sessions 11111111, 22222222, 33333333, 2 more)",
      "press Ctrl-C again to cut off what still runs",
      "cutting off 1 turn with an open ask",
    ]);
  });

  it("says what is left, as turns end", () => {
    const said: string[] = [];
    const tell = drainTeller(10_000, (sentence) => said.push(sentence));
    tell({ working: [id(1), id(2)], waitingTurns: 0 });
    said.length = 0;
    tell({ working: [id(2)], waitingTurns: 0 });
    tell({ working: [], waitingTurns: 0 });
    expect(said).toEqual(["still waiting for 1 turn (session 22222222)"]);
  });

  it.each([
    [{ cutOff: [], kept: 0 }, "/data", ["stopped; there are no sessions in /data"]],
    [
      { cutOff: [], kept: 1 },
      "/data",
      ["stopped; 1 session is kept in /data; start the server again to go on"],
    ],
    [
      { cutOff: [id(7)], kept: 12 },
      "/data",
      [
        "cut off 1 turn (session 77777777)",
        "stopped; 12 sessions are kept in /data; start the server again to go on",
      ],
    ],
    [
      { cutOff: [], kept: null },
      "the store s",
      ["stopped; all sessions are kept in the store s; start the server again to go on"],
    ],
    [{ cutOff: [], kept: null }, null, ["stopped; its sessions were only in memory, and are gone"]],
  ])("says at the end what is kept where: %j in %s", (stopped, place, sentences) => {
    expect(lastWords(stopped, place)).toEqual(sentences);
  });
});

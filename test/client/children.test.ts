import { describe, expect, it } from "vitest";
import { Fermata, type TurnPart } from "../../src/client/index.ts";
import { Transport } from "../../src/client/transport.ts";
import { TurnFold } from "../../src/client/turn-fold.ts";
import type { SessionEvent } from "../../src/core/session/event.ts";
import { sharedServer } from "../server/serve.fixture.ts";

const server = sharedServer({ flags: ["--max-children", "4"] });
const delegates = (task: string) => `mcp delegate ${JSON.stringify({ task, title: "look" })}`;

/** A turn of a session, as far as it has come. */
async function begun(...script: readonly string[]) {
  const session = await new Fermata({ url: server().url }).sessions.create({ agent: "echo" });
  return { session, turn: await session.prompt(script.join("\n")) };
}

function childrenIn(parts: readonly TurnPart[]) {
  return parts.flatMap((part) => (part.type === "child" ? [part.child] : []));
}

describe("the children of a turn, for a client", { timeout: 60_000 }, () => {
  it("are parts of their own, and their words are none of the agent's", async () => {
    const { turn } = await begun(
      "say before",
      delegates("say found it\ntool\nsay done"),
      "say after",
    );
    const verdict = await turn.verdict;
    expect(verdict.text).toMatch(/after$/);
    const own = turn.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
    expect([own, verdict.text].filter((text) => /found it/.test(text))).toEqual([]);
    const [child, ...others] = childrenIn(turn.parts);
    expect(others).toEqual([]);
    expect(child).toMatchObject({ title: "look", agent: "echo", state: "Closed", text: "done" });
    const kinds = child?.parts.map(({ type }) => type) ?? [];
    expect(kinds.filter((type) => type !== "event")).toEqual(["text", "tool", "text"]);
  });

  it("have asks that can be answered where they are found", async () => {
    const { turn } = await begun(delegates("ask kind=execute command=ls\nsay after"));
    for await (const part of turn) {
      const [ask] = part.type === "child" ? part.child.asks : [];
      if (ask !== undefined) await ask.allow();
    }
    const [child] = childrenIn(turn.parts);
    expect(child).toMatchObject({ state: "Closed", asks: [] });
  });

  it("P3: are the same when they are told anew", async () => {
    const { session, turn } = await begun(delegates("say found it\ntool\nsay done"), "say after");
    await turn.verdict;
    const told: SessionEvent[] = [];
    for await (const item of session.events()) {
      if (item.kind === "connection" && item.state === "live") break;
      if (item.kind === "event" && item.event.promptId === turn.promptId) told.push(item.event);
    }
    const transport = new Transport({ url: server().url });
    const end = told.findIndex(({ type }) => type === "child_session_ended");
    for (const known of [told.length, end, Math.floor(end / 2)]) {
      const fold = new TurnFold(transport);
      for (const event of told.slice(0, known)) fold.add(event);
      fold.addAgain(told);
      expect(textsOf(childrenIn(fold.parts))).toEqual(["found it done Closed"]);
    }
  });
});

function textsOf(children: ReturnType<typeof childrenIn>) {
  return children.map(({ parts, state }) => {
    const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
    return [...texts, state].join(" ");
  });
}

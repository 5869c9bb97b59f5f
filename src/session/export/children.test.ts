import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AGENT, childId, Life } from "../../core/session/life.fixture.ts";
import { exportSession, sourceOf, storedLife, textOf } from "./source.fixture.ts";

const said = (text: string) => {
  return { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
};

/** A turn with two children whose words come mixed; the second is cut off with the turn. */
function delegating(): Life {
  const life = new Life().running();
  for (const id of ["k1", "k2"]) {
    const child = {
      ...{ childId: childId(id), callId: id, title: `look ${id}`, task: "look <around>" },
      ...{ agent: "chat", model: null, readOnly: true, price: null, deadlineAtMs: 9_000 },
    };
    life.give("start_child", { child, openMax: 4, perTurnMax: 32 }, AGENT);
  }
  const say = (id: string, text: string) =>
    life.give("child_update", { childId: childId(id), update: said(text) }, AGENT);
  say("k1", "One ");
  life.says("Meanwhile.");
  say("k2", "other");
  say("k1", "found.");
  const outcome = { state: "Closed", text: "One found." } as const;
  life.give("child_ended", { childId: childId("k1"), outcome }, AGENT);
  life.complete("t1");
  return life;
}

const read = async (life: Life, format: "md" | "html" | "json") =>
  textOf(await exportSession(sourceOf(storedLife(life)).source, format));

describe("the children of a session in exports", () => {
  it("stand in Markdown each as one quotation, whose words are not the parent's", async () => {
    const text = await read(delegating(), "md");
    expect(text).toContain(
      "+ **child** `look k1` (chat) — Closed\n\n> > ```markdown\n> > look <around>",
    );
    expect(text).toContain("> One found.");
    expect(text).toContain("+ **child** `look k2` (chat) — Aborted");
    expect(text).toMatch(/^Meanwhile\.$/m);
    expect(text).not.toMatch(/^(One|other)/m);
  });

  it("are folded in HTML, with nothing of theirs as markup", async () => {
    const text = await read(delegating(), "html");
    expect(text.match(/<details class="child">/g)).toHaveLength(2);
    expect(text).not.toContain("<around>");
  });

  it("are told although they have no end yet", async () => {
    const life = delegating();
    const cut = life.log.findLastIndex(({ type }) => type === "child_session_ended");
    life.log.splice(cut);
    expect(await read(life, "md")).toContain("+ **child** `look k2` (chat)\n");
  });

  it("are sections of their turn in JSON, with their events, which are nowhere else", async () => {
    const life = delegating();
    const { turns, children } = DOCUMENT.parse(JSON.parse(await read(life, "json")));
    const [turn = expect.fail()] = turns;
    expect(children).toBeUndefined();
    expect(turn.events.filter(({ childId }) => childId !== undefined)).toEqual([]);
    expect(turn.children).toMatchObject([
      { childId: "k1", promptId: "p1", title: "look k1", task: "look <around>", state: "Closed" },
      { childId: "k2", state: "Aborted", error: { code: "parent_ended" }, text: "" },
    ]);
    const [first] = turn.children ?? [];
    expect(first?.events.map(({ type }) => type)).toEqual([
      "child_session_started",
      "session_update",
      "child_session_ended",
    ]);
    expect(first?.events.every(({ childId }) => childId === "k1")).toBe(true);
    expect(first?.events.at(-1)).toMatchObject({ data: { text: first?.text } });
  });

  it("are sections beside the raw events in JSON, while their turn is at work", async () => {
    const life = delegating();
    life.log.splice(life.log.findLastIndex(({ type }) => type === "child_session_ended"));
    const { turns, tail, children } = DOCUMENT.parse(JSON.parse(await read(life, "json")));
    expect(turns).toEqual([]);
    expect(tail.filter(({ childId }) => childId !== undefined)).toEqual([]);
    expect(children).toMatchObject([
      { childId: "k1", state: "Closed", text: "One found." },
      { childId: "k2", state: "Active", text: null, endedAtMs: null, usage: null },
    ]);
    const told = [...tail, ...(children ?? []).flatMap(({ events }) => events)];
    expect(told).toHaveLength(life.log.length);
  });
});

const EVENT = z.looseObject({ type: z.string(), childId: z.string().optional() });
const CHILDREN = z.array(z.looseObject({ events: z.array(EVENT), text: z.string().nullable() }));
const DOCUMENT = z.object({
  turns: z.array(z.looseObject({ events: z.array(EVENT), children: CHILDREN.optional() })),
  tail: z.array(EVENT),
  children: CHILDREN.optional(),
});

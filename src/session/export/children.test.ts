import { describe, expect, it } from "vitest";
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
    life.give("start_child", { child, openMax: 4 }, AGENT);
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

const read = async (life: Life, format: "md" | "html") =>
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
});

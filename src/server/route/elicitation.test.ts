import { describe, expect, it } from "vitest";
import { Approvals } from "./approval.fixture.ts";
import { heard } from "./work.fixture.ts";

/** A script that has a page opened. */
function pageWith(elicitationId: string, url = "https://login.example/?a=b"): string {
  const page = { mode: "url", elicitationId, url, message: "Sign in." };
  return `call elicitation/create ${JSON.stringify(page)}`;
}

/** What the agent said in all its turns. */
function said({ stream }: Approvals): string {
  return stream.frames
    .map(({ data }) => Object(Object(data.data.update).content).text ?? "")
    .join("");
}

describe("a page that an agent wants opened", () => {
  it("P1: is an ask with its address, until a vote or the end of the page", async () => {
    const session = await Approvals.open();
    const first = await session.asked(pageWith("e1"));
    const { asks } = await session.view();
    expect(asks).toMatchObject([{ requestId: first, kind: "user_question", title: "Sign in." }]);
    const request = await heard(session.stream, "permission_request");
    expect(request.data.data.toolCall).toMatchObject({
      rawInput: { url: "https://login.example/?a=b", questions: [{ header: "login.example" }] },
    });
    await session.vote(first, "accept");
    expect(said(session)).toContain('{"action":"accept"}');
    await session.vote(await session.asked(pageWith("e1")), "decline");
    expect(said(session)).toContain('{"action":"decline"}');

    const open = await session.asked(pageWith("e2"));
    const other = await Approvals.made(session.people, session.ada);
    await other.turn('notify elicitation/complete {"elicitationId":"e2"}');
    const isEnd = ({ event, data }: (typeof session.stream.frames)[number]) =>
      event === "permission_resolved" && data.data.requestId === open;
    await session.stream.until(() => session.stream.frames.some(isEnd));
    expect(session.stream.frames.find(isEnd)?.data.data.reason).toBe("completed");
  });

  it("is refused if its address is none, and no one is asked", async () => {
    const session = await Approvals.open();
    await session.turn(pageWith("e1", "javascript:alert(1)"));
    expect(said(session)).toContain("begins neither with https:// nor with http://");
    expect(await session.view()).toMatchObject({ asks: [] });
  });
});

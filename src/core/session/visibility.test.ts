import { describe, expect, it } from "vitest";
import type { Role } from "../permission.ts";
import { SERVER } from "./command.ts";
import { decide } from "./decide.ts";
import { Life, userId } from "./life.fixture.ts";
import { sessionFromManifest } from "./slot.ts";
import { audienceOf, isSameAudience, isVisibleTo, sharingOf } from "./visibility.ts";

const [ada, bob, eve] = [userId("ada"), userId("bob"), userId("eve")];

describe("P8: who sees a session", () => {
  it.each([
    [null, eve, "viewer", true],
    [[], eve, "owner", true],
    [[], null, "owner", true],
    [[ada], ada, "viewer", true],
    [[ada, bob], bob, "member", true],
    [[ada], bob, "member", false],
    [[ada], bob, "admin", false],
    [[ada], null, "member", false],
    [[], ada, "admin", false],
  ] as const)("of audience %j is %s, %s: %s", (audience, user, role: Role, isSeen) => {
    expect(isVisibleTo(audience, { userId: user, role })).toBe(isSeen);
  });

  it("has its creator first, and each user once", () => {
    const sharing = { visibility: "private", sharedWith: [bob, ada, bob] } as const;
    expect(audienceOf(sharing, ada)).toEqual([ada, bob]);
    expect(audienceOf(sharing, undefined)).toEqual([bob, ada]);
    expect(audienceOf({ visibility: "tenant", sharedWith: [] }, ada)).toBeNull();
    expect(sharingOf([ada, bob], ada)).toEqual({ visibility: "private", sharedWith: [bob] });
    expect(sharingOf(null, ada)).toEqual({ visibility: "tenant", sharedWith: [] });
  });

  it("is the same in any order, and never the whole tenant by being empty", () => {
    expect(isSameAudience([ada, bob], [bob, ada])).toBe(true);
    expect(isSameAudience([ada], [ada, bob])).toBe(false);
    expect(isSameAudience(null, [])).toBe(false);
  });

  it("is no news when it is chosen again", () => {
    const { now } = new Life().created();
    const by = { type: "visibility", atMs: 2, actor: SERVER } as const;
    const open = { visibility: "tenant", sharedWith: [] } as const;
    expect(decide(now, { ...by, ...open }).events).toEqual([]);
    const [event] = decide(now, { ...by, visibility: "private", sharedWith: [bob] }).events;
    expect(event).toMatchObject({ type: "session_visibility_changed", data: { from: "tenant" } });
  });

  it("P6: is still so where the session's own state is lost", () => {
    const manifest = { sessionId: new Life().created().now.sessionId, storeId: "s", createdAt: 1 };
    const record = {
      workspaceCwd: "/w",
      displayName: null,
      name: null,
      parentSessionId: null,
      sourceType: null,
      sourceId: null,
      shared: false,
      closed: false,
      agent: null,
      createdBy: ada,
      audience: [ada, bob],
    };
    const { fixed, chosen } = sessionFromManifest({ ...manifest, mode: "ask" }, record, "echo");
    expect([fixed.createdBy, chosen.audience]).toEqual([ada, [ada, bob]]);
  });
});

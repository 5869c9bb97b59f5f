import { describe, expect, it } from "vitest";
import { MICRO_CREDITS_MAX } from "../../core/limits.ts";
import { value } from "../stage.fixture.ts";
import { GRANT_ID_RULE } from "./entry.ts";
import { ADA, granting as grant, OPERATOR, TENANT, Till } from "./till.fixture.ts";

describe("a grant", () => {
  it.each([-1, 0, 0.5, Number.NaN, Number.POSITIVE_INFINITY, MICRO_CREDITS_MAX + 1])(
    "of %d is none",
    async (amountMicro) => {
      const till = await Till.open(0);
      const granted = await till.meter.grant(TENANT, grant("g", amountMicro));
      expect(granted).toMatchObject({ ok: false, refusal: { code: "invalid_amount" } });
    },
  );

  it("is the same one with the same id and words, whoever says them", async () => {
    const till = await Till.open(0);
    const ada = { kind: "client", userId: ADA } as const;
    const said = { ...grant("g", 5), note: "May" };
    for (const by of [OPERATOR, OPERATOR, ada]) {
      value(await till.meter.grant(TENANT, { ...said, by }));
      value(await till.another().grant(TENANT, { ...said, by }));
    }
    expect(value(await till.meter.balance(TENANT))).toMatchObject({ grantedMicro: 5 });
    expect(await till.frail.lines()).toHaveLength(1);
  });

  it.each([{ amountMicro: 6 }, { note: "June" }, { note: null }])(
    "is none with other words: %j",
    async (other) => {
      const till = await Till.open(0);
      const said = { ...grant("g", 5), note: "May" };
      value(await till.meter.grant(TENANT, said));
      const refused = await till.meter.grant(TENANT, { ...said, ...other });
      expect(refused).toMatchObject({ ok: false, refusal: { code: "ledger_conflict" } });
      expect(value(await till.meter.balance(TENANT))).toMatchObject({ grantedMicro: 5 });
    },
  );

  it("is one, though two processes say it at the same moment", async () => {
    const till = await Till.open(0);
    const others = [till.another(), till.another()];
    const both = others.map((meter) => meter.grant(TENANT, grant("g", 5)));
    for (const granted of await Promise.all(both)) value(granted);
    expect(await till.frail.lines()).toHaveLength(1);
    const ada = { kind: "client", userId: ADA } as const;
    const asked = [grant("h", 5), { ...grant("h", 5), by: ada }].map((said, n) =>
      others[n]?.grant(TENANT, said),
    );
    expect(await Promise.all(asked)).toMatchObject([{ ok: true }, { ok: true }]);
    expect(await till.frail.lines()).toHaveLength(2);
  });

  it("has an id that says by which rule it is one", async () => {
    const till = await Till.open(0);
    for (const id of ["", "a b", "..", "x".repeat(129)]) {
      expect(await till.meter.grant(TENANT, grant(id, 5))).toMatchObject({
        refusal: {
          code: "invalid_request",
          details: { reason: `A grant's id is ${GRANT_ID_RULE}.` },
        },
      });
    }
    expect(GRANT_ID_RULE).toContain("1 to 128 letters, digits and . _ : -");
  });

  it("cannot bring a sum past what is counted exactly", async () => {
    const till = await Till.open(0);
    value(await till.meter.grant(TENANT, grant("all", MICRO_CREDITS_MAX)));
    const more = await till.meter.grant(TENANT, grant("more", 1));
    expect(more).toMatchObject({
      refusal: { code: "grants_too_large", details: { limit: MICRO_CREDITS_MAX, leftMicro: 0 } },
    });
    // The very same one again is known before it is weighed.
    value(await till.meter.grant(TENANT, grant("all", MICRO_CREDITS_MAX)));
    expect(value(await till.meter.balance(TENANT))).toMatchObject({
      grantedMicro: MICRO_CREDITS_MAX,
    });
  });
});

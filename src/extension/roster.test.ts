import { describe, expect, it } from "vitest";
import { EXTENSIONS_ACTIVE_MAX } from "../core/limits.ts";
import { ok } from "../core/result.ts";
import type { LifeStep } from "../platform/life.ts";
import { ManualClock } from "../platform/manual-clock.fixture.ts";
import { ExtensionLife, type StepEvent } from "./life.ts";
import { manifestOf } from "./manifest.fixture.ts";
import { ExtensionRoster, type WantedExtension } from "./roster.ts";

/** What some steps of some extensions do instead of succeeding, as `a init`. */
type Behaviour = Readonly<Record<string, "throws" | "hangs">>;

/** Extensions that write down what is asked of them, and a roster for them. */
function stage(behaviour: Behaviour = {}) {
  const clock = new ManualClock();
  const heard: string[] = [];
  const told: StepEvent[] = [];
  const part = (id: string) => ({
    id,
    async take(step: LifeStep) {
      heard.push(`${id} ${step}`);
      const act = behaviour[`${id} ${step}`];
      if (act === "throws") throw new Error(`no ${step} today`);
      if (act === "hangs") await new Promise(() => {});
    },
    end: (why: string) => void (why === "it was disposed of" || heard.push(`${id} ended`)),
  });
  const tell = (event: StepEvent) => told.push(event);
  const options = { clock, stepMsMax: 1_000, upMsMax: 2_500, tell };
  const wanted = (
    id: string,
    needs: readonly string[] = [],
    isCritical = false,
  ): WantedExtension => ({
    manifest: manifestOf(id, { dependsOn: Object.fromEntries(needs.map((one) => [one, "*"])) }),
    isCritical,
    make: async () => ok(part(id)),
  });
  const roster = new ExtensionRoster(options);
  return {
    clock,
    heard,
    told,
    roster,
    wanted,
    life: (id: string) => new ExtensionLife(part(id), options),
  };
}

const failed = (extension: string, step: string, reason: string) => ({
  code: "extension_failed",
  details: { extension, step, reason },
});

describe("the extensions of a session", () => {
  it("come up in order, and go down in the exact reverse", async () => {
    const { heard, roster, wanted } = stage();
    await roster.bringUp([wanted("a", ["z"]), wanted("m"), wanted("z")]);
    expect(roster.active).toEqual(["m", "z", "a"]);
    const up = heard.splice(0);
    expect(up).toEqual(["m", "z", "a"].flatMap((id) => [`${id} init`, `${id} activate`]));
    expect(await roster.takeDown()).toEqual([]);
    const down = ["a", "z", "m"].flatMap((id) => [`${id} deactivate`, `${id} dispose`]);
    expect(heard).toEqual(down);
    expect(await roster.takeDown()).toEqual([]);
  });

  it("P6: are left out if they fail, with what depends on them; the others come up", async () => {
    const { heard, roster, wanted } = stage({ "b activate": "throws" });
    const all = [wanted("a"), wanted("b"), wanted("c", ["b"]), wanted("d", ["gone"])];
    expect(await roster.bringUp(all)).toMatchObject({ ok: true });
    expect(roster.active).toEqual(["a"]);
    expect(roster.leftOut).toMatchObject([
      { id: "d", why: { code: "extension_dependency_missing", details: { path: "d -> gone" } } },
      { id: "b", why: failed("b", "activate", "no activate today") },
      { id: "c", why: { code: "extension_dependency_missing", details: { path: "c -> b" } } },
    ]);
    expect(heard).toContain("b dispose");
    expect(heard.some((line) => line.startsWith("c"))).toBe(false);
  });

  it.each<[string, Behaviour]>([
    ["fails", { "c init": "throws" }],
    ["has to be left out", {}],
  ])("are all taken down again if a critical one %s", async (_, behaviour) => {
    const { heard, roster, wanted } = stage(behaviour);
    const needs = Object.keys(behaviour).length === 0 ? ["gone"] : [];
    const answer = await roster.bringUp([wanted("a"), wanted("c", needs, true), wanted("d")]);
    expect(answer).toMatchObject({ ok: false, refusal: { details: { extension: "c" } } });
    expect(roster.active).toEqual([]);
    expect(heard.slice(-2)).toEqual(["a deactivate", "a dispose"]);
  });

  it("P10: are not waited for without end, and one that hangs is ended", async () => {
    const { clock, heard, roster, wanted } = stage({ "a init": "hangs", "b deactivate": "hangs" });
    const up = roster.bringUp([wanted("a"), wanted("b")]);
    await expect.poll(() => heard).toEqual(["a init"]);
    clock.advance(1_000);
    await up;
    expect(heard).toEqual(["a init", "a ended", "b init", "b activate"]);
    expect(roster.leftOut).toEqual([
      { id: "a", why: failed("a", "init", "it took longer than 1000 ms") },
    ]);
    const down = roster.takeDown();
    await expect.poll(() => heard.at(-1)).toBe("b deactivate");
    clock.advance(1_000);
    expect(await down).toEqual([failed("b", "deactivate", "it took longer than 1000 ms")]);
    expect(heard.at(-1)).toBe("b ended");
  });

  it("P10: share the time to come up; what is not up by then is left out", async () => {
    const { clock, heard, roster, wanted } = stage();
    const hanging = (id: string): WantedExtension => ({
      ...wanted(id),
      make: (timeIsUp) => {
        heard.push(`${id} make`);
        const made = Promise.withResolvers<never>();
        timeIsUp.addEventListener("abort", () => made.reject(new Error(String(timeIsUp.reason))));
        return made.promise;
      },
    });
    const up = roster.bringUp([wanted("a"), hanging("b"), wanted("c"), wanted("d", ["c"])]);
    await expect.poll(() => heard.at(-1)).toBe("b make");
    clock.advance(2_500);
    expect(await up).toMatchObject({ ok: true });
    expect(heard).toEqual(["a init", "a activate", "b make"]);
    expect(roster.active).toEqual(["a"]);
    const late = "all extensions of the session together took longer than 2500 ms";
    expect(roster.leftOut).toMatchObject([
      { id: "b", why: failed("b", "make", late) },
      { id: "c", why: failed("c", "make", late) },
      { id: "d", why: { details: { path: "d -> c" } } },
    ]);
    expect(clock.runningCount).toBe(0);
  });

  it("are all taken down, even if some fail, and the failures come together", async () => {
    const { heard, roster, wanted } = stage({
      "c deactivate": "throws",
      "b dispose": "throws",
      "a deactivate": "throws",
    });
    await roster.bringUp([wanted("a"), wanted("b"), wanted("c")]);
    expect(await roster.takeDown()).toEqual([
      failed("c", "deactivate", "no deactivate today"),
      failed("b", "dispose", "no dispose today"),
      failed("a", "deactivate", "no deactivate today"),
    ]);
    expect(heard.filter((line) => line.endsWith("dispose"))).toHaveLength(3);
  });

  it("P6: are left out if there is no thread for them", async () => {
    const { roster, wanted } = stage();
    const make = () => Promise.reject(new Error("no threads"));
    expect(await roster.bringUp([{ ...wanted("a"), make }, wanted("b")])).toMatchObject({
      ok: true,
    });
    expect(roster.active).toEqual(["b"]);
    expect(roster.leftOut).toEqual([{ id: "a", why: failed("a", "make", "no threads") }]);
  });

  it("are not asked any more once they were dropped", async () => {
    const { heard, roster, wanted } = stage();
    await roster.bringUp([wanted("a"), wanted("b")]);
    const why = { code: "extension_failed", details: { extension: "a" } } as const;
    roster.dropped("a", why);
    heard.splice(0);
    await roster.takeDown();
    expect(heard).toEqual(["b deactivate", "b dispose"]);
    expect(roster.leftOut).toEqual([{ id: "a", why }]);
  });

  it("P10: are not more than a session has threads for", async () => {
    const { roster, wanted } = stage();
    const ids = Array.from({ length: EXTENSIONS_ACTIVE_MAX + 1 }, (_, n) => `e${100 + n}`);
    await roster.bringUp(ids.map((id) => wanted(id)));
    expect(roster.active).toEqual(ids.slice(0, -1));
    expect(roster.leftOut).toMatchObject([
      { id: ids.at(-1), why: { code: "extension_cardinality" } },
    ]);
  });

  it("tell of each step, before and after it", async () => {
    const { told, roster, wanted } = stage({ "a activate": "throws" });
    await roster.bringUp([wanted("a")]);
    expect(told).toEqual([
      { at: "start", extension: "a", step: "init" },
      { at: "end", extension: "a", step: "init" },
      { at: "start", extension: "a", step: "activate" },
      {
        at: "end",
        extension: "a",
        step: "activate",
        failure: failed("a", "activate", "no activate today"),
      },
      { at: "start", extension: "a", step: "dispose" },
      { at: "end", extension: "a", step: "dispose" },
    ]);
  });
});

describe("a step that does not follow from where an extension is", () => {
  const illegal = (step: string, reason: string) => ({
    code: "extension_phase_invalid",
    details: { extension: "a", step, reason },
  });

  it("is refused, and changes nothing", async () => {
    const { heard, life } = stage();
    const one = life("a");
    expect(await one.take("activate")).toEqual(illegal("activate", "it has not been initialised"));
    await one.take("init");
    const reason = "it has been initialised and is not active";
    expect(await one.take("init")).toEqual(illegal("init", reason));
    await one.take("activate");
    expect(await one.take("activate")).toEqual(illegal("activate", "it is active already"));
    expect(one.phase).toBe("active");
    await one.take("deactivate");
    await one.take("activate");
    await one.take("dispose");
    expect(await one.take("init")).toEqual(illegal("init", "it was ended"));
    expect(await one.take("dispose")).toBeNull();
    const steps = ["init", "activate", "deactivate", "activate", "dispose"];
    expect(heard).toEqual(steps.map((step) => `a ${step}`));
  });

  it("is refused while another one is being taken", async () => {
    const { life } = stage({ "a init": "hangs" });
    const one = life("a");
    void one.take("init");
    expect(await one.take("dispose")).toEqual(illegal("dispose", "another step is being taken"));
  });

  it("leaves an extension where it was if it fails, so that it may be tried again", async () => {
    const { life } = stage({ "a activate": "throws" });
    const one = life("a");
    await one.take("init");
    expect(await one.take("activate")).toEqual(failed("a", "activate", "no activate today"));
    expect(one.phase).toBe("initialised");
  });
});

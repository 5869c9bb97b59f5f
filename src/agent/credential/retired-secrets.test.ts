import { rmSync } from "node:fs";
import { expect, it } from "vitest";
import { SECRETS_KNOWN_MAX, SECRETS_REPLACED_MAX } from "../../core/limits.ts";
import { DONE, fail, type Result } from "../../core/result.ts";
import { SecretFolder } from "./credential.fixture.ts";
import { RetiredSecrets, SecretWatch } from "./secret-watch.ts";

/** A folder of secrets, and what is known of it. */
class Desk {
  readonly folder = new SecretFolder();
  /** How often each value is known. */
  readonly known = new Map<string, number>();
  readonly warnings: string[] = [];
  readonly watch: SecretWatch;
  readonly retired = new RetiredSecrets((value) => this.#forget(value));

  constructor() {
    this.watch = new SecretWatch({
      files: this.folder.files,
      know: (value) => this.know(value),
      retire: (value) => this.retired.add(value),
      warn: (path, reason) => void this.warnings.push(`${path}: ${reason}`),
    });
  }

  /** As limited as the guard is. */
  know(value: string): Result<void> {
    const times = this.known.get(value) ?? 0;
    if (times === 0 && this.known.size >= SECRETS_KNOWN_MAX) {
      return fail("invalid_store_input", { reason: "full" });
    }
    this.known.set(value, times + 1);
    return DONE;
  }

  #forget(value: string) {
    const times = this.known.get(value) ?? expect.fail(`${value} is not known`);
    if (times === 1) this.known.delete(value);
    else this.known.set(value, times - 1);
  }

  /** As many files as these names, each with a value of its own. */
  put(names: readonly string[]) {
    for (const name of names) this.folder.put(name, `value-of-${name}`);
  }

  remove(names: readonly string[]) {
    for (const name of names) rmSync(this.folder.at(name));
  }
}

const names = (round: number, count: number) =>
  Array.from({ length: count }, (_, index) => `KEY_${round}_${index}`);

it("P11: the values of files that vanished stay known for a while, and not for ever", async () => {
  const desk = new Desk();
  for (let round = 0; round < 9; round += 1) {
    desk.put(names(round, 200));
    await desk.watch.look();
    expect(desk.known.has(`value-of-KEY_${round}_199`)).toBe(true);
    desk.remove(names(round, 200));
    await desk.watch.look();
    expect(desk.known.has(`value-of-KEY_${round}_199`)).toBe(true);
  }
  expect(desk.known.size).toBe(SECRETS_REPLACED_MAX);
  expect(desk.warnings).toEqual([]);
});

it("P11: a value that is in another file, or that an agent has, stays known", async () => {
  const desk = new Desk();
  desk.put(["OLD"]);
  await desk.watch.look();
  desk.know("value-of-OLD");
  desk.remove(["OLD"]);
  await desk.watch.look();
  for (const name of names(1, SECRETS_REPLACED_MAX)) {
    desk.know(name);
    desk.retired.add(name);
  }
  expect(desk.known.get("value-of-OLD")).toBe(1);
  expect(desk.known.size).toBe(SECRETS_REPLACED_MAX + 1);
});

it("P11: agents that come and go with ever new keys leave headroom for the next", () => {
  const desk = new Desk();
  for (const key of names(1, 2 * SECRETS_KNOWN_MAX)) {
    expect(desk.know(key)).toEqual(DONE);
    desk.retired.add(key);
  }
  expect(desk.known.size).toBe(SECRETS_REPLACED_MAX);
});

it("a value that retires again and again takes one place, and is the newest", () => {
  const desk = new Desk();
  for (const key of ["first", ...names(1, SECRETS_REPLACED_MAX - 1), "first", "last"]) {
    desk.know(key);
    desk.retired.add(key);
  }
  expect(desk.known.get("first")).toBe(1);
  expect(desk.known.has("KEY_1_0")).toBe(false);
});

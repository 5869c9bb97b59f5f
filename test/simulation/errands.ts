import { parseShellId } from "../../src/core/id.ts";
import type { Result } from "../../src/core/result.ts";
import type { Actor } from "../../src/core/session/command.ts";
import type { ExportFormat } from "../../src/session/export/export.ts";
import { ExportBroken } from "../../src/session/export/source.ts";
import type { ShellOutcome } from "../../src/session/side/shell-command.ts";
import type { SessionKey } from "../../src/store/index.ts";
import type { Desk } from "./desk.ts";
import { nameOf } from "./disk.ts";
import { judgeFork } from "./fork-judge.ts";
import { made } from "./fresh-ids.ts";
import type { Scene } from "./scene.ts";
import type { Witness } from "./witness.ts";
import { ASIDE, foreignWords } from "./words.ts";

/** A command line that may be sent again, because the client does not know if it arrived. */
interface SentLine {
  readonly key: SessionKey;
  readonly command: string;
  readonly hash: string;
  output: string | null;
}

/** What a client has done beside its prompts: shell commands, forks, exports, asides, models. */
export class Errands {
  readonly #scene: Scene;
  readonly #witness: Witness;
  readonly #desk: Desk;
  readonly #by: { readonly actor: Actor };
  readonly #lines: SentLine[] = [];

  constructor(witness: Witness, desk: Desk, by: { readonly actor: Actor }) {
    this.#scene = witness.scene;
    this.#witness = witness;
    this.#desk = desk;
    this.#by = by;
  }

  /** Sometimes one that it has sent before, which must not run again for that. */
  async shell(key: SessionKey) {
    const { chance, words } = this.#scene;
    const again = chance.happens(0.3) ? chance.among(this.#lines) : undefined;
    const command = words.text("command", key.tenantId);
    const line = again ?? { key, command, hash: words.redact(command), output: null };
    if (again === undefined) this.#lines.push(line);
    const caller = this.#caller("hangs up");
    const idempotency = { key: line.hash, hash: line.hash };
    const request = { command: line.command, actor: this.#by.actor, idempotency };
    const answered = await this.#desk.ask(
      `runs "${line.hash}" in ${line.key.sessionId}`,
      ({ runtime }) => runtime.side.shell(line.key, request, caller.signal),
      line.key,
    );
    caller.stays();
    if (answered?.ok) this.#judgeShell(line, answered.value);
  }

  /** The answer is in the log, and the same for every client that asks. */
  #judgeShell(line: SentLine, { aborted, output, exitCode }: ShellOutcome) {
    if (aborted) return;
    const { disk, judge } = this.#scene;
    const log = disk.log(line.key);
    const stored = log?.shellResults.get(line.hash);
    const isStored =
      log === undefined || (stored?.output === output && stored.exitCode === exitCode);
    judge.holds(
      isStored,
      "P1",
      () => `"${line.hash}" was answered "${output}", stored is ${JSON.stringify(stored)}`,
    );
    const isSame = line.output === null || line.output === output;
    judge.holds(isSame, "P2", () => `"${line.hash}" was answered "${line.output}", "${output}"`);
    line.output = output;
  }

  async cancelTask(key: SessionKey) {
    const { chance, disk, ids } = this.#scene;
    const open = [...(disk.log(key)?.openShells ?? [])];
    const shellId = chance.among(open) ?? ids.text("shell");
    const id = made(parseShellId, shellId);
    await this.#desk.ask(`ends ${shellId}`, ({ runtime }) => runtime.side.cancelTask(key, id), key);
  }

  async model(key: SessionKey) {
    const { chance } = this.#scene;
    const modelId = chance.pick(["model-a", "model-b", "model-c"]);
    this.#witness.modelAsked(key, modelId, 1);
    const answered = await this.#desk.ask(
      `wants ${modelId} in ${key.sessionId}`,
      ({ runtime }) => runtime.choices.changeModel(key, { modelId }, this.#by.actor),
      key,
    );
    this.#witness.modelAsked(key, modelId, -1);
    if (!answered?.ok) return;
    const log = this.#scene.disk.log(key);
    const isStored = log === undefined || log.says(`"modelId":"${modelId}"`);
    this.#scene.judge.holds(isStored, "P1", () => `${modelId} was taken, and is not stored`);
  }

  async fork(key: SessionKey) {
    const { chance, disk, ids, words } = this.#scene;
    const turns = disk.log(key)?.wholeTurns ?? [];
    const turnId = chance.happens(0.5) ? null : (chance.among(turns) ?? ids.turn());
    const name = chance.happens(0.5) ? null : words.text("branch", key.tenantId);
    const order = { actor: this.#by.actor, turnId, name };
    const answered = await this.#desk.ask(
      `forks ${key.sessionId}`,
      ({ runtime }) => runtime.side.fork(key, order),
      key,
    );
    if (!answered?.ok || answered.value === null) return;
    const copy = answered.value.key;
    this.#scene.wanted.set(nameOf(copy), this.#scene.wanted.get(nameOf(key)) ?? "");
    await judgeFork(this.#scene, { source: key, copy, turnId });
  }

  /** After the answer that it is gone, no client sees it again. */
  async delete(key: SessionKey) {
    const { judge, disk } = this.#scene;
    const answered = await this.#desk.ask(
      `deletes ${key.sessionId}`,
      ({ runtime }) => runtime.delete(key, this.#by.actor),
      key,
    );
    if (!answered?.ok) return;
    const isGone = disk.log(key) === undefined;
    judge.holds(isGone, "P1", () => `${nameOf(key)} was deleted, and is there`);
  }

  async export(key: SessionKey) {
    const { chance, judge } = this.#scene;
    const format = chance.pick<ExportFormat>(["json", "jsonl", "md", "html"]);
    const answered = await this.#desk.ask(
      `exports ${key.sessionId} as ${format}`,
      async ({ runtime }) => {
        const found = await runtime.find(key);
        return found.ok ? runtime.export(found.value, format, { ...key, ...READER }) : found;
      },
      key,
    );
    if (!answered?.ok) return;
    const isLeft = chance.happens(0.3);
    const text = await readAll(answered.value.pieces, isLeft);
    if (text === null || isLeft) return;
    const foreign = foreignWords(text, key.tenantId);
    judge.holds(foreign === null, "P8", () => `an export of ${nameOf(key)} has ${foreign}`);
    const isWhole = format !== "json" || isJson(text);
    judge.holds(isWhole, "P6", () => `an export of ${nameOf(key)} is no JSON`);
  }

  async btw(key: SessionKey) {
    const { words } = this.#scene;
    const question = words.text(ASIDE, key.tenantId);
    const caller = this.#caller("does not want to know");
    const answered = await this.#desk.ask(
      `asks by the way in ${key.sessionId}`,
      ({ runtime }) => runtime.side.btw(key, question, caller.signal),
      key,
    );
    caller.stays();
    this.#judgeAside(key, answered);
  }

  async recap(key: SessionKey) {
    const what = `wants a recap of ${key.sessionId}`;
    this.#judgeAside(
      key,
      await this.#desk.ask(what, ({ runtime }) => runtime.side.recap(key), key),
    );
  }

  /** An answer was said aside and to this tenant, and has no secret. */
  #judgeAside(key: SessionKey, answered: Result<string | null> | null) {
    const said = answered?.ok ? answered.value : null;
    if (said === null) return;
    const { judge, words } = this.#scene;
    const isAside = !/text-\d/.test(said) && foreignWords(said, key.tenantId) === null;
    judge.holds(isAside, "P8", () => `an aside was answered "${said}"`);
    judge.holds(!words.leaks(said), "P11", () => "an aside was answered with a secret");
  }

  async replay(key: SessionKey): Promise<number | null> {
    const answered = await this.#desk.ask(
      `loads ${key.sessionId}`,
      ({ runtime }) => runtime.replay(key, "full"),
      key,
    );
    if (!answered?.ok) return null;
    this.#witness.held.replayed(key, answered.value);
    return answered.value.lastEventId;
  }

  /** A caller that may not wait for the answer. A server that is gone does not notice. */
  #caller(leaves: string): { readonly signal: AbortSignal; stays(): void } {
    const { chance, schedule } = this.#scene;
    const leaving = new AbortController();
    const { signal } = leaving;
    if (!chance.happens(0.2)) return { signal, stays: () => {} };
    const inMs = chance.pick([0, 5, 100, 2_000]);
    const { server } = this.#desk;
    const stays = schedule.add("caller", leaves, () => leaving.abort(), { inMs, server });
    return { signal, stays };
  }
}

/** Null if it broke off, which it says. */
async function readAll(pieces: AsyncIterable<string>, isLeft: boolean): Promise<string | null> {
  let text = "";
  try {
    for await (const piece of pieces) {
      text += piece;
      if (isLeft) break;
    }
    return text;
  } catch (thrown) {
    if (thrown instanceof ExportBroken) return null;
    throw thrown;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const READER = { userId: null, signal: new AbortController().signal, sees: () => true };

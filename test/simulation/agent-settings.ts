import { DONE, fail, type Result } from "../../src/core/result.ts";
import type { Scene } from "./scene.ts";

type Setting = "model" | "mode";

/** What an agent is set to. Whether it takes what it is told to take is up to chance. */
export class AgentSettings {
  readonly #scene: Scene;
  readonly #name: string;
  /** Its modes, if it has any, as it offers them. */
  readonly modes: { readonly currentModeId: string; readonly availableModes: object[] } | null;
  model: string | null = null;
  mode: string;
  /** What it has refused, unless it has taken that since. */
  readonly refused = { model: new Set<string | null>(), mode: new Set<string | null>() };

  constructor(scene: Scene, name: string, remembered: string | null) {
    this.#scene = scene;
    this.#name = name;
    this.mode = remembered ?? FIRST_MODE;
    const availableModes = [{ id: FIRST_MODE }, { id: "plan" }];
    const hasModes = remembered !== null || scene.chance.happens(0.8);
    this.modes = hasModes ? { currentModeId: this.mode, availableModes } : null;
    this.#remember();
  }

  /** Agents do what they are told in the order in which they are told it. */
  set(setting: Setting, value: string): Result<void> {
    const method = `session/set_${setting}`;
    const { chance, temper } = this.#scene;
    if (setting === "mode" && this.modes === null) {
      this.refused.mode.add(value);
      return fail("agent_unsupported", { method });
    }
    if (chance.happens(temper.agentRefusesSettings)) {
      this.refused[setting].add(value);
      return fail("agent_call_failed", { method, reason: "not today" });
    }
    this[setting] = value;
    this.refused[setting].delete(value);
    this.#remember();
    return DONE;
  }

  #remember() {
    this.#scene.modesLeft.set(this.#name, this.mode);
  }
}

const FIRST_MODE = "code";

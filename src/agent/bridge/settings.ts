import type { AgentUpdate } from "../../core/agent-update.ts";
import { type JsonObject, stringAt } from "../../core/json.ts";
import { DONE, type Result } from "../../core/result.ts";
import { AGENT_METHODS } from "../../wire/acp.ts";
import { optionOf, readSettings, type SessionSettings } from "./capability.ts";

/** A control call about the session; `settled` sees a good answer before anything after it. */
type Control = (
  method: string,
  params: JsonObject,
  settled?: (answer: JsonObject) => void,
) => Promise<Result<JsonObject>>;

/** A session's modes and options, as the agent last told them, and the ways to change them. */
export class Settings {
  readonly #control: Control;
  #now = NONE;

  constructor(control: Control) {
    this.#control = control;
  }

  get now(): SessionSettings {
    return this.#now;
  }

  /** The name of the model that the session is set to; null if the agent does not say. */
  get model(): string | null {
    const option = optionOf(this.#now, "model");
    return option === null ? null : stringAt(option, "currentValue");
  }

  reset() {
    this.#now = NONE;
  }

  /** What the answer to a call says of them. What it does not speak of is as it was. */
  readonly adopt = (answer: JsonObject) => {
    const { modes, configOptions } = readSettings(answer);
    this.#now = {
      modes: modes ?? this.#now.modes,
      configOptions: configOptions.length > 0 ? configOptions : this.#now.configOptions,
    };
  };

  learn(update: AgentUpdate) {
    const { sessionUpdate } = update;
    if (sessionUpdate === "current_mode_update") this.#inMode(stringAt(update, "currentModeId"));
    if (sessionUpdate === "config_option_update") {
      this.#now = { ...this.#now, configOptions: readSettings(update).configOptions };
    }
  }

  #inMode(currentModeId: string | null) {
    const { modes } = this.#now;
    if (modes === null || currentModeId === null) return;
    this.#now = { ...this.#now, modes: { ...modes, currentModeId } };
  }

  /** By the option that ACP has for it; by the call of before, where an agent has none. */
  async setModel(modelId: string): Promise<Result<void>> {
    const option = optionOf(this.#now, "model");
    const configId = option === null ? null : stringAt(option, "id");
    if (configId !== null) return this.setOption(configId, modelId);
    return done(await this.#control(AGENT_METHODS.setModel, { modelId }));
  }

  async setMode(modeId: string): Promise<Result<void>> {
    const option = this.#now.modes === null ? optionOf(this.#now, "mode") : null;
    const configId = option === null ? null : stringAt(option, "id");
    if (configId !== null) return this.setOption(configId, modeId);
    const chosen = () => this.#inMode(modeId);
    return done(await this.#control(AGENT_METHODS.setMode, { modeId }, chosen));
  }

  async setOption(configId: string, value: string | boolean): Promise<Result<void>> {
    const chosen = typeof value === "boolean" ? { type: "boolean", value } : { value };
    const params = { configId, ...chosen };
    return done(await this.#control(AGENT_METHODS.setConfigOption, params, this.adopt));
  }
}

const NONE: SessionSettings = { modes: null, configOptions: [] };

function done(result: Result<unknown>): Result<void> {
  return result.ok ? DONE : result;
}

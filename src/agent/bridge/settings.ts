import type { AgentUpdate } from "../../core/agent-update.ts";
import { type JsonObject, objectAt, stringAt } from "../../core/json.ts";
import { DONE, fail, type Result } from "../../core/result.ts";
import { MODEL_SETTINGS, type ModelPart, type ModelSetting } from "../../core/session/state.ts";
import { AGENT_METHODS } from "../../wire/acp.ts";
import type { Adrift, ModelRefusal } from "../agent.ts";
import { optionOf, readSettings, type SessionSettings } from "./capability.ts";
import { choiceOf, type ModelOption, modelOption } from "./model-option.ts";

/** A control call about the session; `settled` sees a good answer before anything after it. */
type Control = (
  method: string,
  params: JsonObject,
  settled?: (answer: JsonObject) => void,
) => Promise<Result<JsonObject>>;

/** What the parts of a model's configuration are set to; no entry where the agent does not say. */
type Held = ReadonlyMap<ModelSetting, string | boolean>;

/** A session's modes and options, as the agent last told them, and the ways to change them. */
export class Settings {
  readonly #control: Control;
  #now = NONE;
  /** The model of an agent that has no option for it. */
  #legacyModel: string | null = null;

  constructor(control: Control) {
    this.#control = control;
  }

  get now(): SessionSettings {
    return this.#now;
  }

  /** The name of the model that the session is set to; null if the agent does not say. */
  get model(): string | null {
    const current = this.#held().get("modelId");
    return typeof current === "string" ? current : null;
  }

  reset() {
    this.#now = NONE;
    this.#legacyModel = null;
  }

  /** What the answer to a call says of them. What it does not speak of is as it was. */
  readonly adopt = (answer: JsonObject) => {
    const { modes, configOptions } = readSettings(answer);
    this.#now = {
      modes: modes ?? this.#now.modes,
      configOptions: configOptions.length > 0 ? configOptions : this.#now.configOptions,
    };
    this.#legacyModel =
      stringAt(objectAt(answer, "models") ?? {}, "currentModelId") ?? this.#legacyModel;
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

  async setModelConfig(parts: readonly ModelPart[]): Promise<ModelRefusal | null> {
    const before = this.#held();
    const touched = new Set<ModelSetting>();
    for (const part of parts) {
      const set = await this.#setPart(part);
      // An agent that has not answered in time may do it yet.
      if (set.ok || set.refusal.code === "agent_call_timeout") touched.add(part.setting);
      if (set.ok) continue;
      return { part, refusal: set.refusal, adrift: await this.#setBack(before, touched) };
    }
    return null;
  }

  /** By the option that the agent has for it; a model also by the call of before there were any. */
  async #setPart(part: ModelPart): Promise<Result<void>> {
    const { setting, value } = part;
    const option = this.#option(setting);
    if (option !== null) {
      const choice = choiceOf(option, part);
      return choice.ok ? this.setOption(option.configId, choice.value) : choice;
    }
    if (setting === "modelId") return this.#setLegacyModel(String(value));
    return fail("agent_unsupported", { method: `an option for ${setting}` });
  }

  async #setLegacyModel(modelId: string): Promise<Result<void>> {
    const chosen = () => {
      this.#legacyModel = modelId;
    };
    return done(await this.#control(AGENT_METHODS.setModel, { modelId }, chosen));
  }

  /**
   * What was asked for, and what else is different now: an agent may offer other choices with
   * another model. The model goes first here too, so that the choices are there again.
   */
  async #setBack(before: Held, touched: ReadonlySet<ModelSetting>): Promise<readonly Adrift[]> {
    const adrift: Adrift[] = [];
    for (const setting of MODEL_SETTINGS) {
      const value = before.get(setting) ?? null;
      const isElse = value !== null && this.#held().get(setting) !== value;
      if (!isElse && !touched.has(setting)) continue;
      const set = await this.#setAgain(setting, value);
      if (set.ok) continue;
      if (set.refusal.code === "agent_gone") return [];
      adrift.push({ setting, value, refusal: set.refusal });
    }
    return adrift;
  }

  async #setAgain(setting: ModelSetting, value: string | boolean | null): Promise<Result<void>> {
    const option = this.#option(setting);
    if (option !== null && value !== null) return this.setOption(option.configId, value);
    if (setting === "modelId" && typeof value === "string") return this.#setLegacyModel(value);
    return fail("agent_unsupported", { method: `a way back for ${setting}` });
  }

  #option(setting: ModelSetting): ModelOption | null {
    return modelOption(this.#now.configOptions, setting);
  }

  #held(): Held {
    const held = new Map<ModelSetting, string | boolean>();
    for (const setting of MODEL_SETTINGS) {
      const option = this.#option(setting);
      const legacy = setting === "modelId" && option === null ? this.#legacyModel : null;
      const current = option?.current ?? legacy;
      if (current !== null) held.set(setting, current);
    }
    return held;
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

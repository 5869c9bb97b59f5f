import type { AgentUpdate } from "../../core/agent-update.ts";
import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { ERROR_MESSAGE_CHARS_MAX } from "../../core/limits.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import { MODEL_SETTINGS, type ModelPart, type ModelSetting } from "../../core/session/state.ts";
import { cutText } from "../../core/text.ts";
import { AGENT_METHODS } from "../../wire/acp.ts";
import type { ModelRefusal, UnrestoredSetting } from "../agent.ts";
import { type OfferedSettings, optionOf, readSettings } from "./capability.ts";

/** Makes a control call about the session; `settled` gets a good answer before later messages. */
type Control = (
  method: string,
  params: JsonObject,
  settled?: (answer: JsonObject) => void,
) => Promise<Result<JsonObject>>;

/** The current model configuration, without what the agent does not report. */
type ModelValues = ReadonlyMap<ModelSetting, string | boolean>;

/** A session's modes and options as the agent last reported them, and how to change them. */
export class Settings {
  readonly #control: Control;
  /** The equal value that other sessions have, so that there is one. */
  readonly #shared: (offer: OfferedSettings) => OfferedSettings;
  #now = NONE;

  constructor(control: Control, shared: (offer: OfferedSettings) => OfferedSettings) {
    this.#control = control;
    this.#shared = shared;
  }

  get now(): OfferedSettings {
    return this.#now;
  }

  /** The session's model; null if the agent does not report it. */
  get model(): string | null {
    const current = this.#modelValues().get("modelId");
    return typeof current === "string" ? current : null;
  }

  reset() {
    this.#now = NONE;
  }

  /** Takes what an answer says of them. What it does not name stays as it was. */
  readonly adopt = (answer: JsonObject) => {
    const { modes, models, configOptions } = readSettings(answer);
    this.#change({
      ...(modes !== null && { modes }),
      ...(models !== null && { models }),
      ...(configOptions.length > 0 && { configOptions }),
    });
  };

  #change(changed: Partial<OfferedSettings>) {
    this.#now = this.#shared({ ...this.#now, ...changed });
  }

  learn(update: AgentUpdate) {
    const { sessionUpdate } = update;
    if (sessionUpdate === "current_mode_update") this.#inMode(stringAt(update, "currentModeId"));
    if (sessionUpdate === "config_option_update") {
      this.#change({ configOptions: readSettings(update).configOptions });
    }
  }

  #inMode(currentModeId: string | null) {
    const { modes } = this.#now;
    if (modes === null || currentModeId === null) return;
    this.#change({ modes: { ...modes, currentModeId } });
  }

  async setModelConfig(parts: readonly ModelPart[]): Promise<ModelRefusal | null> {
    const before = this.#modelValues();
    const touched = new Set<ModelSetting>();
    for (const part of parts) {
      const set = await this.#setPart(part);
      // After a timeout the agent may still do it.
      if (set.ok || set.refusal.code === "agent_call_timeout") touched.add(part.setting);
      if (set.ok) continue;
      return { part, refusal: set.refusal, unrestored: await this.#restore(before, touched) };
    }
    return null;
  }

  /** By the agent's option for it; a model also by the older call `session/set_model`. */
  async #setPart(part: ModelPart): Promise<Result<void>> {
    const { setting, value } = part;
    const option = this.#option(setting);
    if (option !== null) {
      const choice = choiceOf(option, part);
      return choice.ok ? this.setOption(option.configId, choice.value) : choice;
    }
    if (setting === "modelId") return this.#setListedModel(String(value));
    return fail("agent_unsupported", { method: `an option for ${setting}` });
  }

  /** Some agents take any name here, so one that is not in their list is not asked for. */
  async #setListedModel(modelId: string): Promise<Result<void>> {
    const listed = modelIdsIn(this.#now.models);
    if (listed.length > 0 && !listed.includes(modelId)) return unknownChoice("modelId", listed);
    return this.#callSetModel(modelId);
  }

  async #callSetModel(modelId: string): Promise<Result<void>> {
    const chosen = () => {
      this.#change({ models: { ...this.#now.models, currentModelId: modelId } });
    };
    return done(await this.#control(AGENT_METHODS.setModel, { modelId }, chosen));
  }

  /**
   * Restores what was set, and what else has changed: with another model an agent may offer other
   * choices. The model goes first here too, so that its choices are there again.
   */
  async #restore(
    before: ModelValues,
    touched: ReadonlySet<ModelSetting>,
  ): Promise<readonly UnrestoredSetting[]> {
    const unrestored: UnrestoredSetting[] = [];
    for (const setting of MODEL_SETTINGS) {
      const value = before.get(setting) ?? null;
      const hasChanged = value !== null && this.#modelValues().get(setting) !== value;
      if (!hasChanged && !touched.has(setting)) continue;
      const set = await this.#restoreOne(setting, value);
      if (set.ok) continue;
      if (set.refusal.code === "agent_gone") return [];
      unrestored.push({ setting, value, refusal: set.refusal });
    }
    return unrestored;
  }

  async #restoreOne(setting: ModelSetting, value: string | boolean | null): Promise<Result<void>> {
    const option = this.#option(setting);
    if (option !== null && value !== null) return this.setOption(option.configId, value);
    if (setting === "modelId" && typeof value === "string") return this.#callSetModel(value);
    return fail("agent_unsupported", { method: `a way back for ${setting}` });
  }

  #option(setting: ModelSetting): ModelOption | null {
    return modelOption(this.#now.configOptions, setting);
  }

  /** The model of an agent that has no option for it. */
  get #listedModel(): string | null {
    return stringAt(this.#now.models ?? {}, "currentModelId");
  }

  #modelValues(): ModelValues {
    const held = new Map<ModelSetting, string | boolean>();
    for (const setting of MODEL_SETTINGS) {
      const option = this.#option(setting);
      const listed = setting === "modelId" && option === null ? this.#listedModel : null;
      const current = option?.current ?? listed;
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

  modelSettingOf(configId: string): ModelSetting | null {
    const isIt = (setting: ModelSetting) => this.#option(setting)?.configId === configId;
    return MODEL_SETTINGS.find(isIt) ?? null;
  }

  async setOption(configId: string, value: string | boolean): Promise<Result<void>> {
    const chosen = typeof value === "boolean" ? { type: "boolean", value } : { value };
    const params = { configId, ...chosen };
    return done(await this.#control(AGENT_METHODS.setConfigOption, params, this.adopt));
  }
}

const NONE: OfferedSettings = { modes: null, models: null, configOptions: [] };

function modelIdsIn(models: JsonObject | null): readonly string[] {
  return objectsIn(models?.availableModels).flatMap((model) => stringAt(model, "modelId") ?? []);
}

function done(result: Result<unknown>): Result<void> {
  return result.ok ? DONE : result;
}

/** How to find the option for a setting: by ACP's category, or else by one of these names. */
interface OptionNames {
  readonly category: string | null;
  readonly names: readonly string[];
}

const OPTION_NAMES: Readonly<Record<ModelSetting, OptionNames>> = {
  modelId: { category: "model", names: ["model"] },
  temperature: { category: null, names: ["temperature", "model_temperature"] },
  reasoning: {
    category: "thought_level",
    names: ["thought_level", "reasoning_effort", "reasoning", "effort", "thinking"],
  },
  verbosity: { category: null, names: ["verbosity", "model_verbosity", "text_verbosity"] },
};

/** An agent's option for a model setting. */
export interface ModelOption {
  readonly configId: string;
  /** Whether it is a boolean. */
  readonly isSwitch: boolean;
  /** Its value; null if the agent does not report it. */
  readonly current: string | boolean | null;
  /** What it can be set to; none where the agent names none and may take any value. */
  readonly choices: readonly string[];
}

export function modelOption(
  configOptions: readonly JsonObject[],
  setting: ModelSetting,
): ModelOption | null {
  const { category, names } = OPTION_NAMES[setting];
  const named = (key: "id" | "name") => (name: string) =>
    configOptions.find((option) => plainName(stringAt(option, key) ?? "") === name);
  const option =
    configOptions.find((one) => category !== null && one.category === category) ??
    names.map(named("id")).find((found) => found !== undefined) ??
    names.map(named("name")).find((found) => found !== undefined);
  const configId = option === undefined ? null : stringAt(option, "id");
  if (option === undefined || configId === null) return null;
  const { currentValue } = option;
  const isKnown = typeof currentValue === "string" || typeof currentValue === "boolean";
  const isSwitch = option.type === "boolean" || typeof currentValue === "boolean";
  const choices = isSwitch ? [...SWITCH.keys()] : valuesIn(option.options);
  return { configId, isSwitch, current: isKnown ? currentValue : null, choices };
}

/** Some agents write `reasoning_effort`, others `reasoning-effort` or `Reasoning effort`. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/[\s-]+/g, "_");
}

/** The choices of a boolean option, as a client names them. */
const SWITCH: ReadonlyMap<string, boolean> = new Map([
  ["on", true],
  ["off", false],
]);

/** The values of a selection, those in groups too. */
function valuesIn(options: unknown): readonly string[] {
  const choices = objectsIn(options).flatMap((one) => {
    return Array.isArray(one.options) ? objectsIn(one.options) : [one];
  });
  return choices.flatMap((choice) => stringAt(choice, "value") ?? []);
}

function objectsIn(list: unknown): readonly JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

/** The value for the option, or a refusal that names its choices. */
export function choiceOf(
  { choices, isSwitch }: ModelOption,
  { setting, value }: ModelPart,
): Result<string | boolean> {
  const wanted = String(value);
  const isWanted = (choice: string) =>
    typeof value === "number" ? isNumber(choice, value) : choice === value;
  const choice = choices.length === 0 ? wanted : choices.find(isWanted);
  if (choice === undefined) return unknownChoice(setting, choices);
  return ok(isSwitch ? (SWITCH.get(choice) ?? choice) : choice);
}

function unknownChoice(setting: ModelSetting, choices: readonly string[]): Result<never> {
  const all = cutText(choices.join(", "), ERROR_MESSAGE_CHARS_MAX);
  return fail("agent_choice_unknown", { setting, choices: all });
}

/** Agents offer numbers as text, and may write one half as `0.50`. */
function isNumber(choice: string, value: number): boolean {
  return choice.trim() !== "" && Number(choice) === value;
}

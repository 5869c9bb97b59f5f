import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { ERROR_MESSAGE_CHARS_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { ModelPart, ModelSetting } from "../../core/session/state.ts";
import { cutText } from "../../core/text.ts";

/** Where agents have a setting: under ACP's category for it, or else under one of these names. */
interface Place {
  readonly category: string | null;
  readonly names: readonly string[];
}

const PLACES: Readonly<Record<ModelSetting, Place>> = {
  modelId: { category: "model", names: ["model"] },
  temperature: { category: null, names: ["temperature", "model_temperature"] },
  reasoning: {
    category: "thought_level",
    names: ["thought_level", "reasoning_effort", "reasoning", "effort", "thinking"],
  },
  verbosity: { category: null, names: ["verbosity", "model_verbosity", "text_verbosity"] },
};

/** An option that an agent has for a setting, as far as it is needed to choose in it. */
export interface ModelOption {
  readonly configId: string;
  /** Whether it is only on or off. */
  readonly isSwitch: boolean;
  /** What it is set to; null if the agent does not say. */
  readonly current: string | boolean | null;
  /** What it can be set to; none where the agent names none and may take anything. */
  readonly choices: readonly string[];
}

export function modelOption(
  configOptions: readonly JsonObject[],
  setting: ModelSetting,
): ModelOption | null {
  const { category, names } = PLACES[setting];
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

/** How an option that is only on or off is said in words. */
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

/** What the option has to be set to, or a refusal that names what it can be set to. */
export function choiceOf(
  { choices, isSwitch }: ModelOption,
  { setting, value }: ModelPart,
): Result<string | boolean> {
  const wanted = String(value);
  const isWanted = (choice: string) =>
    typeof value === "number" ? isNumber(choice, value) : choice === value;
  const choice = choices.length === 0 ? wanted : choices.find(isWanted);
  if (choice === undefined) {
    const all = cutText(choices.join(", "), ERROR_MESSAGE_CHARS_MAX);
    return fail("agent_choice_unknown", { setting, choices: all });
  }
  return ok(isSwitch ? (SWITCH.get(choice) ?? choice) : choice);
}

/** Agents offer numbers as texts, and may write one half as `0.50`. */
function isNumber(choice: string, value: number): boolean {
  return choice.trim() !== "" && Number(choice) === value;
}

import type { JsonObject } from "../../../core/json.ts";
import type { FlagName, Flags } from "./flags.ts";
import type { EchoSession } from "./session.ts";
import type { EchoDeps } from "./turn.ts";

/** The modes and options of a session. None of them changes what echo does. */
const MODES = [
  { id: "default", name: "Default", description: "Says back what it is told" },
  { id: "plan", name: "Plan", description: "The same, thoughtfully" },
  { id: "auto", name: "Auto", description: "The same, at once" },
] as const;

const MODELS = [
  { id: "echo-small", name: "Echo Small" },
  { id: "echo-large", name: "Echo Large" },
  { id: "echo-cave", name: "Echo Cave" },
] as const;

interface Selection {
  readonly id: string;
  readonly name: string;
  readonly category: string;
  /** The flag that it is switched off by. */
  readonly without: FlagName;
  readonly first: string;
  readonly values: readonly string[];
}

const LEVELS = ["low", "medium", "high"];

/** The options that say how a model works. */
export const MODEL_SELECTIONS: readonly Selection[] = [
  selection("effort", "Effort", "thought_level", "medium", LEVELS),
  selection("temperature", "Temperature", "model_config", "1", ["0", "0.2", "0.5", "1"]),
  selection("verbosity", "Verbosity", "model_config", "medium", LEVELS),
];

function selection<Id extends "effort" | "temperature" | "verbosity">(
  id: Id,
  name: string,
  category: string,
  first: string,
  values: readonly string[],
): Selection {
  return { id, name, category, without: `--no-${id}`, first, values };
}

export const DEFAULT_MODE = MODES[0].id;
export const MODEL_OPTION = "model";
const LOUD_OPTION = "loud";

/** Options by id, as entries keep them: texts. */
export const DEFAULT_OPTIONS: ReadonlyMap<string, string> = new Map([
  [MODEL_OPTION, MODELS[0].id],
  [LOUD_OPTION, "false"],
  ...MODEL_SELECTIONS.map(({ id, first }) => [id, first] as const),
]);

export function isMode(id: string): boolean {
  return MODES.some((mode) => mode.id === id);
}

export function isModel(id: string): boolean {
  return MODELS.some((model) => model.id === id);
}

/** The modes and options of an answer, without those that a flag switches off. */
export function settingsOf(session: EchoSession, deps: EchoDeps): JsonObject {
  const { flags } = deps;
  return {
    ...(flags.has("--no-modes") ? {} : { modes: modesOf(session) }),
    ...(flags.has("--no-config") ? {} : { configOptions: configOptionsOf(session, deps) }),
    ...(flags.has("--with-legacy-model") ? { models: legacyModelsOf(session) } : {}),
  };
}

function modesOf(session: EchoSession): JsonObject {
  return { currentModeId: session.modeId, availableModes: MODES };
}

/** Whether echo has this option, and the option this value. */
export function isOption(flags: Flags, id: unknown, value: unknown): id is string {
  if (id === LOUD_OPTION) return typeof value === "boolean";
  if (typeof value !== "string") return false;
  if (id === MODEL_OPTION) return isModel(value);
  return selectionsOf(flags).some((one) => one.id === id && one.values.includes(value));
}

function selectionsOf(flags: Flags): readonly Selection[] {
  return MODEL_SELECTIONS.filter(({ without }) => !flags.has(without));
}

export function configOptionsOf(
  session: EchoSession,
  { flags, link }: EchoDeps,
): readonly JsonObject[] {
  const model = {
    id: MODEL_OPTION,
    name: "Model",
    category: "model",
    type: "select",
    currentValue: session.setting(MODEL_OPTION),
    options: MODELS.map(({ id, name }) => ({ value: id, name })),
  };
  const loud = {
    id: LOUD_OPTION,
    name: "Loud",
    description: "Whether to speak up",
    type: "boolean",
    currentValue: session.setting(LOUD_OPTION) === "true",
  };
  const selections = selectionsOf(flags).map(({ id, name, category, values }) => {
    const options = values.map((value) => ({ value, name: value }));
    return { id, name, category, type: "select", currentValue: session.setting(id), options };
  });
  // A client that does not know booleans must not be sent any.
  return link.abilities.takesBooleanOptions ? [model, ...selections, loud] : [model, ...selections];
}

/** Models in the format from before there were options, which the SDK does not know. */
function legacyModelsOf(session: EchoSession): JsonObject {
  return {
    currentModelId: session.setting(MODEL_OPTION),
    availableModels: MODELS.map(({ id, name }) => ({ modelId: id, name })),
  };
}

import type { JsonObject } from "../../../core/json.ts";
import type { ClientAbilities } from "./client-link.ts";
import type { Flags } from "./flags.ts";
import type { Session } from "./session.ts";

/** What can be set in a session: modes, and two options. Neither changes what echo does. */
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

export const DEFAULT_MODE = MODES[0].id;
export const MODEL_OPTION = "model";
export const LOUD_OPTION = "loud";

/** Options by id, as entries keep them: texts. */
export const DEFAULT_OPTIONS: ReadonlyMap<string, string> = new Map([
  [MODEL_OPTION, MODELS[0].id],
  [LOUD_OPTION, "false"],
]);

export function isMode(id: string): boolean {
  return MODES.some((mode) => mode.id === id);
}

export function isModel(id: string): boolean {
  return MODELS.some((model) => model.id === id);
}

/** The part of an answer that tells what can be set, by what the flags left on. */
export function settingsOf(session: Session, flags: Flags, client: ClientAbilities): JsonObject {
  return {
    ...(flags.has("--no-modes") ? {} : { modes: modesOf(session) }),
    ...(flags.has("--no-config") ? {} : { configOptions: configOptionsOf(session, client) }),
    ...(flags.has("--with-legacy-model") ? { models: legacyModelsOf(session) } : {}),
  };
}

function modesOf(session: Session): JsonObject {
  return { currentModeId: session.modeId, availableModes: MODES };
}

export function configOptionsOf(session: Session, client: ClientAbilities): readonly JsonObject[] {
  const model = {
    id: MODEL_OPTION,
    name: "Model",
    category: "model",
    type: "select",
    currentValue: session.option(MODEL_OPTION),
    options: MODELS.map(({ id, name }) => ({ value: id, name })),
  };
  const loud = {
    id: LOUD_OPTION,
    name: "Loud",
    description: "Whether to speak up",
    type: "boolean",
    currentValue: session.option(LOUD_OPTION) === "true",
  };
  // A client that does not know booleans must not be sent any.
  return client.takesBooleanOptions ? [model, loud] : [model];
}

/** As agents told of their models before there were options; the SDK has forgotten it. */
function legacyModelsOf(session: Session): JsonObject {
  return {
    currentModelId: session.option(MODEL_OPTION),
    availableModels: MODELS.map(({ id, name }) => ({ modelId: id, name })),
  };
}

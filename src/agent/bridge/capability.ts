import { isObject, type JsonObject, objectAt, stringAt } from "../../core/json.ts";

/** What an agent said of itself when it was initialised. What it does not say it cannot do. */
export interface AgentAbilities {
  readonly name: string | null;
  readonly version: string | null;
  /** As they came. */
  readonly capabilities: JsonObject;
  readonly load: boolean;
  readonly resume: boolean;
  readonly close: boolean;
  readonly list: boolean;
  readonly fork: boolean;
  readonly systemPrompt: boolean;
  /** A further prompt while one is at work. No version of ACP has a word for it yet. */
  readonly steer: boolean;
  readonly authMethods: readonly string[];
}

export function readAbilities(initialized: JsonObject): AgentAbilities {
  const capabilities = objectAt(initialized, "agentCapabilities") ?? {};
  const session = objectAt(capabilities, "sessionCapabilities") ?? {};
  const info = objectAt(initialized, "agentInfo") ?? {};
  // A capability is an object, perhaps empty; some agents write `true`.
  const offers = (name: string) => isObject(session[name]) || session[name] === true;
  return {
    name: stringAt(info, "title") ?? stringAt(info, "name"),
    version: stringAt(info, "version"),
    capabilities,
    load: capabilities.loadSession === true,
    resume: offers("resume"),
    close: offers("close"),
    list: offers("list"),
    fork: offers("fork"),
    systemPrompt: offers("systemPrompt"),
    steer: saysPromptQueueing(objectAt(capabilities, "_meta") ?? {}),
    authMethods: methodIds(initialized.authMethods),
  };
}

/** Every vendor puts it under a name of its own. */
function saysPromptQueueing(meta: JsonObject): boolean {
  return Object.values(meta).some((vendor) => isObject(vendor) && vendor.promptQueueing === true);
}

function methodIds(methods: unknown): readonly string[] {
  if (!Array.isArray(methods)) return [];
  return methods.flatMap((method: unknown) => {
    const id = isObject(method) ? stringAt(method, "id") : null;
    return id === null ? [] : [id];
  });
}

/** A session's options and modes, as the agent last told them. */
export interface SessionSettings {
  readonly modes: JsonObject | null;
  readonly configOptions: readonly JsonObject[];
}

export function readSettings(answer: JsonObject): SessionSettings {
  const { configOptions } = answer;
  return {
    modes: objectAt(answer, "modes"),
    configOptions: Array.isArray(configOptions) ? configOptions.filter(isObject) : [],
  };
}

/** The option of a category, such as `model`; by its id where an agent gives no categories. */
export function optionOf({ configOptions }: SessionSettings, category: string): JsonObject | null {
  const named = configOptions.find((option) => option.category === category);
  return named ?? configOptions.find((option) => option.id === category) ?? null;
}

import type { ModelConfig } from "./state.ts";

/** What of a model can be set. The model comes first: what else an agent offers may hang on it. */
export const MODEL_SETTINGS = ["modelId", "temperature", "reasoning", "verbosity"] as const;

export type ModelSetting = (typeof MODEL_SETTINGS)[number];

/** What somebody wants changed; what is not in it stays as it is. */
export interface ModelChange {
  readonly modelId?: string;
  readonly temperature?: number;
  readonly reasoning?: string;
  readonly verbosity?: string;
}

export interface ModelPart {
  readonly setting: ModelSetting;
  readonly value: string | number;
}

/** A part that the agent did not take. */
export interface ModelFailure extends ModelPart {
  readonly reason: string;
}

/** What is set in it, in the order in which an agent is asked for it. */
export function partsOf(config: ModelConfig | ModelChange): readonly ModelPart[] {
  return MODEL_SETTINGS.flatMap((setting) => {
    const value = config[setting] ?? null;
    return value === null ? [] : [{ setting, value }];
  });
}

export function isSameConfig(one: ModelConfig, other: ModelConfig): boolean {
  return MODEL_SETTINGS.every((setting) => one[setting] === other[setting]);
}

import type { AskingView } from "../../policy/asking.ts";
import type { CommandResult } from "../../session/event.ts";
import type { ModelConfig, Session, SnapshotRef } from "../../session/state.ts";
import { done, failed, leftOut, listed, section, shownName } from "./answer.ts";

/** `/model` alone; the choices are those that the agent offers, where it says so. */
export function modelShown(config: ModelConfig, choices: readonly string[]): CommandResult {
  const offered = [...listed(choices).map(shownName), ...leftOut(choices)];
  const lines = [`Model: ${modelLine(config)}`, ...section("The agent offers:", offered)];
  const data = { model: modelFields(config), choices: listed(choices) };
  return done("model_shown", lines.join("\n"), data);
}

export function modelSet(config: ModelConfig): CommandResult {
  const data = { model: modelFields(config) };
  return done("model_set", `The model is now ${modelLine(config)}.`, data);
}

/** The old model stays. */
export function modelFailed(requested: string, config: ModelConfig, reason: string): CommandResult {
  const shown = shownName(requested);
  const message = `Error: the model was not changed to ${shown}: ${reason} It is still `;
  const data = { requested: shown, model: modelFields(config) };
  return failed("model_failed", `${message}${modelLine(config)}.`, data);
}

/** `/status`: all of it is the session's own state, but for how its agent asks. */
export function statusShown(session: Session, asking: AskingView): CommandResult {
  const { sessionId, chosen, connection, phase, totals } = session;
  const { activeAgent, modelConfig, skills, persona, currentCwd } = chosen;
  const { turnsCompleted, turnsFailed } = totals;
  const lines = [
    `Session: ${sessionId}`,
    `Agent: ${shownName(activeAgent)}`,
    `Asking: ${asking.sentence}`,
    `Status: ${connection.sessionState}`,
    `Phase: ${phase}`,
    `Model: ${modelLine(modelConfig)}`,
    `Skills: ${versionLine(skills)}`,
    `Persona: ${versionLine(persona)}`,
    `Folder: ${currentCwd}`,
    `Turns: ${turnsCompleted} completed, ${turnsFailed} failed`,
  ];
  return done("status_shown", lines.join("\n"), {
    sessionId,
    agent: activeAgent,
    asking,
    status: connection.sessionState,
    phase,
    model: modelFields(modelConfig),
    skills: { version: skills.version, hash: skills.hash },
    persona: { version: persona.version, hash: persona.hash },
    cwd: currentCwd,
    turns: { completed: turnsCompleted, failed: turnsFailed },
  });
}

function versionLine({ version, hash }: SnapshotRef): string {
  return `version ${version} (${hash})`;
}

function modelLine({ modelId, temperature, reasoning, verbosity }: ModelConfig): string {
  const more = [
    ...(temperature === undefined ? [] : [`temperature ${temperature}`]),
    ...(reasoning === undefined ? [] : [`reasoning ${shownName(reasoning)}`]),
    ...(verbosity === undefined ? [] : [`verbosity ${shownName(verbosity)}`]),
  ];
  const name = modelId === null ? "the agent's default" : shownName(modelId);
  return [name, ...more].join(", ");
}

/** A model configuration under the seed's names (B2). */
export function modelFields({ modelId, temperature, reasoning, verbosity }: ModelConfig) {
  return {
    name: modelId,
    ...(temperature !== undefined && { temperature }),
    ...(reasoning !== undefined && { reasoning_level: reasoning }),
    ...(verbosity !== undefined && { verbosity }),
  };
}

import { type Refusal, sentenceOf } from "../error.ts";
import type { SessionId } from "../id.ts";
import { CHILDREN_OPEN_MAX, SLASH_ANSWER_CHARS_MAX, SLASH_SUMMARY_CHARS_MAX } from "../limits.ts";
import type { AskingView } from "../policy/asking.ts";
import { shownChildren } from "../session/child.ts";
import type { CommandResult } from "../session/event.ts";
import type { ModelConfig, Session, SnapshotRef } from "../session/state.ts";
import type { SkillEntry, SkillSnapshot } from "../skill/skill.ts";
import { bounded, done, failed, leftOut, listed, oneLine, section, shownName } from "./answer.ts";
import { BUILT_INS, type BuiltIn, type BuiltInName, isPassedOn } from "./commands.ts";

/** Every answer to a slash command: a stable code, a sentence, and data. */
export * from "./skill-reply.ts";
export * from "./workflow-reply.ts";

export function emptySlash(): CommandResult {
  const message = 'Error: a command\'s name must follow the "/" at once. /help lists the commands.';
  return failed("parse_error", message);
}

export function unknownCommand(name: string): CommandResult {
  const shown = shownName(name);
  const message = `Error: there is no command /${shown}. /help lists the commands.`;
  return failed("unknown_command", message, { command: shown });
}

export function wrongWords(name: BuiltInName): CommandResult {
  const { usage } = BUILT_INS[name];
  return failed("invalid_args", `Error: wrong arguments for /${name}. Usage: ${usage}`, {
    command: name,
    usage,
  });
}

/** Two skills wanted the alias, so neither has it; both still have their names. */
export function aliasAmbiguous(alias: string, skills: readonly string[]): CommandResult {
  const names = listed(skills).map(shownName);
  const shown = shownName(alias);
  const message =
    `Error: /${shown} is ambiguous, several skills ask for it: ${names.join(", ")}. ` +
    "Use /skill NAME instead.";
  return failed("alias_ambiguous", message, { command: shown, skills: names });
}

/** Any other refusal, with the code and the sentence that it has everywhere. */
export function commandRefused(refusal: Refusal): CommandResult {
  return failed(refusal.code, `Error: ${sentenceOf(refusal)}`, refusal.details);
}

/** `/help` alone: everything that a line beginning with `/` can name, and who answers it. */
export function commandHelp(
  snapshot: SkillSnapshot,
  agentCommands: readonly string[],
): CommandResult {
  const aliased = snapshot.entries.flatMap(aliasOf);
  const passedOn = [...new Set(agentCommands)].filter((name) => isPassedOn(snapshot, name));
  const lines = [
    ...section("Commands:", Object.values(BUILT_INS).map(usageLine)),
    ...section("Skills by alias:", [...listed(aliased).map(aliasLine), ...leftOut(aliased)]),
    ...section("The agent's own commands:", [
      ...listed(passedOn).map((name) => `/${shownName(name)}`),
      ...leftOut(passedOn),
    ]),
  ];
  return done("help_shown", lines.join("\n"), {
    commands: Object.keys(BUILT_INS),
    aliases: listed(aliased).map(({ alias, entry }) => ({
      alias: shownName(alias),
      skill: shownName(entry.skill_name),
    })),
    agentCommands: listed(passedOn).map(shownName),
  });
}

interface Aliased {
  readonly alias: string;
  readonly entry: SkillEntry;
}

function aliasOf(entry: SkillEntry): readonly Aliased[] {
  return entry.command === null ? [] : [{ alias: entry.command, entry }];
}

function usageLine({ usage, summary }: BuiltIn): string {
  return `${usage}: ${summary}`;
}

function aliasLine({ alias, entry }: Aliased): string {
  const summary = oneLine(entry.summary, SLASH_SUMMARY_CHARS_MAX);
  const name = shownName(entry.skill_name);
  return `/${shownName(alias)} [text]: skill ${name}${summary === "" ? "" : `: ${summary}`}`;
}

/** `/agent` alone, or `/agent list`: those that are configured, the active one marked. */
export function agentListed(active: string, agents: readonly string[]): CommandResult {
  const lines = listed(agents).map((name) =>
    name === active ? `* ${shownName(name)} (active)` : `  ${shownName(name)}`,
  );
  const more = agents.includes(active)
    ? []
    : [`The active agent, ${shownName(active)}, is not configured here any more.`];
  const text = [...section("Agents:", [...lines, ...leftOut(agents)]), ...more].join("\n");
  return done("agent_listed", text, { active, agents: listed(agents) });
}

export function agentSet(from: string, to: string): CommandResult {
  const message =
    from === to
      ? `The active agent is ${shownName(to)} already.`
      : `The active agent is now ${shownName(to)}; it was ${shownName(from)}.`;
  return done("agent_set", message, { from, to });
}

export function agentNotFound(name: string, agents: readonly string[]): CommandResult {
  const shown = shownName(name);
  const known = listed(agents).map(shownName);
  const names = [...known, ...leftOut(agents)].join(", ") || "none";
  const message = `Error: there is no agent "${shown}". The configured agents are: ${names}.`;
  return failed("agent_not_found", message, { agent: shown, agents: known });
}

/** A tool's own words are the answer; it is bounded like any other. */
export function toolOk(tool: string, text: string): CommandResult {
  const message = text === "" ? `${shownName(tool)} finished without output.` : text;
  return done("tool_ok", message, { tool });
}

export function toolFailed(tool: string, text: string): CommandResult {
  const reason = text === "" ? "It gave no reason." : text;
  return failed("tool_failed", `Error: ${shownName(tool)} failed.\n${reason}`, { tool });
}

export function toolInputInvalid(tool: string, reason: string): CommandResult {
  const message = `Error: ${shownName(tool)} was not run, its input is not valid: ${reason}`;
  return failed("tool_input_invalid", message, { tool });
}

/** A rule or a person refused what the skill would have done. */
export function skillCapabilityDenied(skill: string, tool: string, reason: string): CommandResult {
  const message = `Error: skill ${shownName(skill)} may not run ${shownName(tool)}: ${reason}`;
  return failed("skill_capability_denied", message, { skill, tool });
}

/** The tool was there when the skills were loaded and is not there now. */
export function executorUnbound(skill: string, tool: string): CommandResult {
  const message =
    `Error: skill ${shownName(skill)} needs the tool ${shownName(tool)}, ` +
    "which is not available now.";
  return failed("executor_unbound", message, { skill, tool });
}

/**
 * `/new`: the session in which it was typed stays as it is. Null is a session that not all readers
 * of the answer may know.
 */
export function sessionCreated(sessionId: SessionId | null): CommandResult {
  if (sessionId === null) {
    return done("session_created", "A new private session was made; the list of sessions has it.");
  }
  return done("session_created", `A new session was made: ${sessionId}`, { sessionId });
}

/** What `/save-and-close` leaves behind. */
export interface Saved {
  readonly persisted: boolean;
  readonly turnsDrained: number;
  /** Where the session is stored, in words that its store has for it. */
  readonly location: string;
}

export function sessionSaved({ persisted, turnsDrained, location }: Saved): CommandResult {
  const turns = turnsDrained === 1 ? "1 turn was" : `${turnsDrained} turns were`;
  const message = persisted
    ? `The session is saved (${location}); ${turns} finished first. It closes now.`
    : `The session has nothing that needs saving; ${turns} finished first. It closes now.`;
  return done("session_saved", message, { persisted, turnsDrained, location });
}

/** What a reload came to: both versions, and in words what differs between them. */
export interface Reload {
  readonly from: SnapshotRef;
  readonly to: SnapshotRef;
  readonly difference: string;
}

export function skillsReloaded(reload: Reload): CommandResult {
  return reloaded("skills_reloaded", "The skills were read again", reload);
}

export function personaReloaded(reload: Reload): CommandResult {
  return reloaded("persona_reloaded", "The persona files were read again", reload);
}

/** The skills could not be read at all; the session keeps the ones it has. */
export function reloadUnavailable(reason: string): CommandResult {
  return failed("reload_unavailable", `Error: the skills were not reloaded. ${reason}`);
}

export function personaReloadFailed(reason: string): CommandResult {
  return failed("persona_reload_failed", `Error: the persona was not reloaded. ${reason}`);
}

function reloaded(code: string, what: string, { from, to, difference }: Reload): CommandResult {
  const message = `${what}: version ${from.version} is now version ${to.version}.\n${difference}`;
  const data = {
    from: { version: from.version, hash: from.hash },
    to: { version: to.version, hash: to.hash },
    difference: bounded(difference, SLASH_ANSWER_CHARS_MAX),
  };
  return done(code, message, data);
}

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
    ...childLines(session),
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

/** The children that began last, if there were any; all of them have a route of their own. */
function childLines(session: Session): readonly string[] {
  const last = shownChildren(session).slice(-CHILDREN_OPEN_MAX);
  const named = last.map(({ title, agent, state }) => {
    return `${shownName(title)} (${shownName(agent)}, ${state})`;
  });
  return named.length === 0 ? [] : [`Children: ${named.join("; ")}`];
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

/** A model configuration under its published names. */
export function modelFields({ modelId, temperature, reasoning, verbosity }: ModelConfig) {
  return {
    name: modelId,
    ...(temperature !== undefined && { temperature }),
    ...(reasoning !== undefined && { reasoning_level: reasoning }),
    ...(verbosity !== undefined && { verbosity }),
  };
}

import { SLASH_ANSWER_CHARS_MAX } from "../../limits.ts";
import type { CommandResult } from "../../session/event.ts";
import type { SnapshotRef } from "../../session/state.ts";
import { bounded } from "../plain.ts";
import { done, failed } from "./answer.ts";

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

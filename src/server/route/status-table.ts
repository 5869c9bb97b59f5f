import { ADMISSION } from "../../core/session/admission.ts";
import {
  AGENT_STATUSES,
  applySessionTransition,
  SESSION_STATES,
  VALID_TRANSITIONS,
} from "../../core/status.ts";
import { json } from "../answer.ts";
import { type Route, route } from "../route.ts";

/**
 * The tables that decide what a session may do, as data (ours): the edges between its states, what
 * each status of an agent does to each state, and what may be asked of a session in each of them.
 */
export function statusTableRoute(): Route {
  return route({
    method: "GET",
    path: "/status-table",
    gate: "caller",
    needs: null,
    clientId: "ignored",
    body: "json",
    handle: async () => json(200, TABLES),
  });
}

const TABLES = {
  v: 1,
  states: SESSION_STATES,
  transitions: byState((state) => [...VALID_TRANSITIONS[state]]),
  agentStatuses: AGENT_STATUSES,
  agentTransitions: byState((state) => {
    const cells = AGENT_STATUSES.map((status) => [status, applySessionTransition(state, status)]);
    return Object.fromEntries(cells);
  }),
  admission: ADMISSION,
};

function byState<Value>(cellOf: (state: (typeof SESSION_STATES)[number]) => Value) {
  return Object.fromEntries(SESSION_STATES.map((state) => [state, cellOf(state)]));
}

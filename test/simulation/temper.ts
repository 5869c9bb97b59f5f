import type { Chance } from "./chance.ts";

/** How likely it is that things go wrong in a life; each number is a probability. */
export interface Temper {
  /** A write is refused and not done; or done, and its answer is lost. */
  readonly storeRefuses: number;
  readonly storeLoses: number;
  readonly storeReadFails: number;
  readonly storeIsSlow: number;
  /** With each act of the director: the store goes away for a while, or the server crashes. */
  readonly outage: number;
  readonly crash: number;
  readonly restart: number;

  readonly agentFailsToConnect: number;
  readonly agentIsSlow: number;
  /** Once in an agent's life, at any moment. */
  readonly agentDies: number;
  readonly agentIsDeaf: number;
  readonly agentIsRude: number;
  readonly agentHangs: number;
  readonly agentIsBusy: number;
  /** It does not take a model or a mode that it is told to take. */
  readonly agentRefusesSettings: number;
}

/** The world as it should be. */
export const CALM: Temper = {
  storeRefuses: 0,
  storeLoses: 0,
  storeReadFails: 0,
  storeIsSlow: 0.05,
  outage: 0,
  crash: 0,
  restart: 0,
  agentFailsToConnect: 0,
  agentIsSlow: 0.05,
  agentDies: 0,
  agentIsDeaf: 0,
  agentIsRude: 0,
  agentHangs: 0,
  agentIsBusy: 0,
  agentRefusesSettings: 0.05,
};

const BAD_STORE: Partial<Temper> = {
  storeRefuses: 0.04,
  storeLoses: 0.04,
  storeReadFails: 0.03,
  storeIsSlow: 0.3,
  outage: 0.06,
};

const BAD_AGENTS: Partial<Temper> = {
  agentFailsToConnect: 0.25,
  agentIsSlow: 0.3,
  agentDies: 0.3,
  agentIsDeaf: 0.2,
  agentIsRude: 0.4,
  agentHangs: 0.15,
  agentIsBusy: 0.05,
  agentRefusesSettings: 0.3,
};

const BAD_SERVER: Partial<Temper> = { crash: 0.08, restart: 0.04 };

/** A life with one trouble shows best what that trouble does; some lives have all of them. */
export function temperOf(chance: Chance): Temper {
  const parts = chance.pick<readonly Partial<Temper>[]>([
    [],
    [BAD_STORE],
    [BAD_AGENTS],
    [BAD_SERVER],
    [BAD_SERVER],
    [BAD_STORE, BAD_SERVER],
    [BAD_AGENTS, BAD_SERVER],
    [BAD_STORE, BAD_AGENTS, BAD_SERVER],
  ]);
  return Object.assign({ ...CALM }, ...parts);
}

import { join } from "node:path";
import type { AgentListener, AgentOffer } from "../../agent/agent.ts";
import { startHost } from "../../agent/bridge/start.ts";
import { Credentials } from "../../agent/credential/credentials.ts";
import { AgentMarks } from "../../agent/process/marks.ts";
import { type AgentProfile, askingProfile } from "../../agent/profile/profile.ts";
import { sentenceOf } from "../../core/error.ts";
import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { CANCELLED } from "../../core/policy/ask.ts";
import { DONE, type Result } from "../../core/result.ts";
import { LOCAL_TENANT } from "../../server/http/authenticator.ts";
import { homeOf } from "../home.ts";
import { ownAccount } from "../serve/agent-user.ts";

export interface OfferedModels {
  /** Without any, null stands for the one that the agent does not name. */
  readonly models: readonly (string | null)[];
  /** Why the agent could not be asked; null if it could. */
  readonly failure: string | null;
}

/** Starts an agent, makes a session with it, and ends it: which models does it have? */
export async function offeredModels(profile: AgentProfile): Promise<OfferedModels> {
  const offer = await offerOf(profile);
  if (!offer.ok) return { models: [null], failure: sentenceOf(offer.refusal) };
  const models = modelsIn(offer.value);
  return { models: models.length === 0 ? [null] : models, failure: null };
}

const HOLDER = { tenantId: LOCAL_TENANT, userId: null };

async function offerOf(profile: AgentProfile): Promise<Result<AgentOffer>> {
  const account = await ownAccount(profile, false);
  if (!account.ok) return account;
  const whole = askingProfile({ ...profile, account: account.value });
  const { env } = process;
  const credentials = await new Credentials({ files: null, homes: null, env }).of(whole, HOLDER);
  if (!credentials.ok) return credentials;
  const marks = new AgentMarks(join(homeOf(env), "running-agents"));
  const cwd = process.cwd();
  const start = { profile: whole, cwd, marks, env, credentials: credentials.value };
  const host = await startHost(start, {
    fault: () => {},
    secret: () => DONE,
    secretGone: () => {},
  });
  if (!host.ok) return host;
  try {
    const whose = { ...HOLDER, profile: profile.name, asks: true, workspace: cwd, cwd };
    const request = { ...whose, mcpServers: [], systemPrompt: null, past: null };
    const made = await host.value.connect(request, LISTENER, new AbortController().signal);
    if (!made.ok) return made;
    const { offer } = made.value;
    await made.value.close();
    return { ok: true, value: offer };
  } finally {
    await host.value.end();
  }
}

/** The current one first, and then those that can be chosen. */
function modelsIn({ model, models, configOptions }: AgentOffer): readonly string[] {
  const option = configOptions.find(({ category }) => category === "model");
  const choices = objectsIn(option?.options).flatMap((one) => {
    return Array.isArray(one.options) ? objectsIn(one.options) : [one];
  });
  const options = choices.flatMap((one) => stringAt(one, "value") ?? []);
  const listed = objectsIn(models?.availableModels).flatMap(
    (one) => stringAt(one, "modelId") ?? [],
  );
  return [...new Set([...(model ? [model] : []), ...options, ...listed])];
}

function objectsIn(list: unknown): readonly JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

/** No person is there: what the agent asks for is refused. */
const LISTENER: AgentListener = {
  connected: () => {},
  status: () => {},
  update: () => undefined,
  usage: () => {},
  usageSuspect: () => {},
  takeMessages: async () => [],
  hasQueuedPrompt: () => false,
  ask: async () => ({ outcome: CANCELLED }),
  access: async () => ({ allowed: false, reason: "this session is only for a look at the agent" }),
  exit: () => {},
  audit: async () => {},
};

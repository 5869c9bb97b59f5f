import type { ContentBlock } from "../../core/agent-update.ts";
import { isObject, type JsonObject, objectAt, stringAt } from "../../core/json.ts";
import { AGENT_OFFER_BYTES_MAX, AGENT_OFFERS_SHARED_MAX } from "../../core/limits.ts";
import { BoundedMap } from "../../platform/bounded-map.ts";
import { CLIENT_METHODS } from "../../wire/acp.ts";
import type { ClientAbility } from "../profile/profile.ts";
import { type OfferedSignIn, readSignIns } from "./sign-in.ts";

/** The agent's answer to `initialize`. What it does not name, it cannot do. */
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
  readonly delete: boolean;
  readonly additionalDirectories: boolean;
  readonly logout: boolean;
  readonly systemPrompt: boolean;
  /** A further prompt while one is running. No version of ACP has a name for it yet. */
  readonly steer: boolean;
  readonly authMethods: readonly OfferedSignIn[];
}

export function readAbilities(initialized: JsonObject): AgentAbilities {
  const capabilities = objectAt(initialized, "agentCapabilities") ?? {};
  const session = objectAt(capabilities, "sessionCapabilities") ?? {};
  const info = objectAt(initialized, "agentInfo") ?? {};
  const offers = (name: string) => isOffered(session[name]);
  return {
    name: stringAt(info, "title") ?? stringAt(info, "name"),
    version: stringAt(info, "version"),
    capabilities,
    load: capabilities.loadSession === true,
    resume: offers("resume"),
    close: offers("close"),
    list: offers("list"),
    fork: offers("fork"),
    delete: offers("delete"),
    additionalDirectories: offers("additionalDirectories"),
    logout: isOffered(objectAt(capabilities, "auth")?.logout),
    systemPrompt: offers("systemPrompt"),
    steer: queuesPrompts(objectAt(capabilities, "_meta") ?? {}),
    authMethods: readSignIns(initialized.authMethods),
  };
}

/** A capability is an object, perhaps empty; some agents write `true`. */
function isOffered(capability: unknown): boolean {
  return isObject(capability) || capability === true;
}

/** Each vendor has it under a key of its own. */
function queuesPrompts(meta: JsonObject): boolean {
  return Object.values(meta).some((vendor) => isObject(vendor) && vendor.promptQueueing === true);
}

/** A session's modes, options and models, as the agent last reported them. */
export interface OfferedSettings {
  readonly modes: JsonObject | null;
  /** Models as ACP had them before there were options: `currentModelId`, `availableModels`. */
  readonly models: JsonObject | null;
  readonly configOptions: readonly JsonObject[];
}

export function readSettings(answer: JsonObject): OfferedSettings {
  const { configOptions } = answer;
  return {
    modes: objectAt(answer, "modes"),
    models: objectAt(answer, "models"),
    configOptions: Array.isArray(configOptions) ? configOptions.filter(isObject) : [],
  };
}

/**
 * What a process has offered its sessions. It offers nearly all of them the same, so that is kept
 * once, as a value that none of them changes. What differs in one mode or option is another.
 */
export class SharedOffers {
  readonly #byText = new BoundedMap<string, OfferedSettings>(AGENT_OFFERS_SHARED_MAX);

  /** An equal offer that was made before; if there is none, this one. */
  shared(offer: OfferedSettings): OfferedSettings {
    const text = JSON.stringify(offer);
    if (text.length > AGENT_OFFER_BYTES_MAX) return offer;
    const known = this.#byText.use(text) ?? offer;
    if (known === offer) this.#byText.set(text, offer);
    return known;
  }
}

/** The option of a category, such as `model`; by its id where an agent gives no categories. */
export function optionOf({ configOptions }: OfferedSettings, category: string): JsonObject | null {
  const named = configOptions.find((option) => option.category === category);
  return named ?? configOptions.find((option) => option.id === category) ?? null;
}

/**
 * What the server offers to an agent, without what the agent's profile withholds.
 */
export function clientCapabilities(withhold: readonly ClientAbility[]): JsonObject {
  const has = (ability: ClientAbility) => !withhold.includes(ability);
  return {
    fs: { readTextFile: has("fs.read"), writeTextFile: has("fs.write") },
    terminal: has("terminal"),
    // The operator runs these methods: `fermata agents NAME --sign-in`.
    auth: { terminal: true },
    session: { compaction: {}, configOptions: { boolean: {} }, notices: {} },
    plan: {},
    ...(has("elicitation") && { elicitation: { form: {}, url: {} } }),
    // The older form of the same: opencode and Kilo offer their sign-in by nothing else.
    _meta: { "terminal-auth": true },
  };
}

/** Whether the profile withholds this method from the agent. */
export function isWithheld(method: string, withhold: readonly ClientAbility[]): boolean {
  const ability = ABILITY_OF[method];
  return ability !== undefined && withhold.includes(ability);
}

const ABILITY_OF: Readonly<Record<string, ClientAbility>> = {
  [CLIENT_METHODS.readTextFile]: "fs.read",
  [CLIENT_METHODS.writeTextFile]: "fs.write",
  [CLIENT_METHODS.createTerminal]: "terminal",
  [CLIENT_METHODS.terminalOutput]: "terminal",
  [CLIENT_METHODS.waitForTerminalExit]: "terminal",
  [CLIENT_METHODS.killTerminal]: "terminal",
  [CLIENT_METHODS.releaseTerminal]: "terminal",
  [CLIENT_METHODS.createElicitation]: "elicitation",
};

/**
 * A prompt's content as this agent can take it. What it cannot take becomes text where that loses
 * nothing, and else a note, so that neither the agent nor a person misses it unnoticed.
 */
export function fitContent(
  content: readonly ContentBlock[],
  capabilities: JsonObject,
): readonly ContentBlock[] {
  const takes = objectAt(capabilities, "promptCapabilities") ?? {};
  return content.map((block) => {
    if (block.type === "image" && takes.image !== true) return leftOut("an image");
    if (block.type === "audio" && takes.audio !== true) return leftOut("a recording");
    if (block.type === "resource" && takes.embeddedContext !== true) return asText(block);
    return block;
  });
}

function leftOut(what: string): ContentBlock {
  return { type: "text", text: `[The user attached ${what}, which this agent cannot take.]` };
}

function asText(block: ContentBlock): ContentBlock {
  const resource = objectAt(block, "resource") ?? {};
  const text = stringAt(resource, "text");
  const uri = stringAt(resource, "uri") ?? "attachment";
  if (text === null) return leftOut(`the file ${uri}`);
  return { type: "text", text: `<file uri=${JSON.stringify(uri)}>\n${text}\n</file>` };
}

/** The MCP servers that this agent can connect to. Every agent can use stdio. */
export function fitServers(servers: readonly JsonObject[], capabilities: JsonObject) {
  const takes = objectAt(capabilities, "mcpCapabilities") ?? {};
  const fits = (server: JsonObject) => {
    const type = stringAt(server, "type") ?? "stdio";
    return type === "stdio" || takes[type] === true;
  };
  const skipped = servers
    .filter((server) => !fits(server))
    .map((server) => ({
      what: `MCP server ${stringAt(server, "name") ?? "without a name"}`,
      reason: `this agent takes no MCP servers of type ${stringAt(server, "type")}`,
    }));
  return { mcpServers: servers.filter(fits), skipped };
}

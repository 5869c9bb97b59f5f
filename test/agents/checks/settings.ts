// Models, modes and the tools of MCP servers.

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { KNOWN_PROFILES } from "../../../src/agent/profile/known.ts";
import type { McpUse } from "../../../src/agent/profile/profile.ts";
import { type JsonObject, objectAt, stringAt } from "../../../src/core/json.ts";
import type { HostedSession } from "../hosted.ts";
import { MCP_STAMP } from "../model/obey.ts";
import { type Message, objectsIn, type Tool } from "../model/request.ts";
import { must } from "../must.ts";
import type { World } from "../world.ts";
import { type Check, mark } from "./check.ts";

async function stateOf(session: HostedSession): Promise<JsonObject> {
  const { body } = await session.ask("GET", "/context");
  return objectAt(body, "state") ?? {};
}

/** The models that can be chosen, and the one that is. */
function modelsOf(state: JsonObject): { readonly now: string; readonly all: readonly string[] } {
  const option = objectsIn(state.configOptions).find(({ category }) => category === "model");
  if (option !== undefined) {
    const values = objectsIn(option.options).flatMap((one) => {
      return Array.isArray(one.options) ? objectsIn(one.options) : [one];
    });
    const all = values.flatMap(({ value }) => (typeof value === "string" ? [value] : []));
    return { now: stringAt(option, "currentValue") ?? "", all };
  }
  const models = objectAt(state, "models") ?? {};
  const listed = objectsIn(models.availableModels);
  const all = listed.flatMap(({ modelId }) => (typeof modelId === "string" ? [modelId] : []));
  return { now: stringAt(models, "currentModelId") ?? "", all };
}

/** One of the others may be another name for the same model. */
const MODELS_TRIED_MAX = 3;

const model: Check = {
  name: "model",
  title: "another model is chosen, and asked",
  run: async (world) => {
    const session = await world.session();
    const askedAfter = async (word: string) => {
      await session.turn(`[[say: ${word}]]`);
      const asked = world.model.requests.find(({ messages, tools }) => {
        return tools.length > 0 && messages.some(({ text }) => text.includes(word));
      });
      return asked?.model ?? "none";
    };
    const before = await askedAfter(mark("BEFORE"));
    const { now, all } = modelsOf(await stateOf(session));
    const others = all.filter((one) => one !== now);
    const ours = others.filter((one) => one.includes("mock-model"));
    must(others.length > 0, "the agent lists another model", now, all);
    const seen: string[] = [];
    for (const modelId of [...ours, ...others].slice(0, MODELS_TRIED_MAX)) {
      await session.ask("POST", "/model", { modelId });
      seen.push(await askedAfter(mark("AFTER")));
      if (seen.some((one) => one !== before)) return;
    }
    must(false, "the other model is asked", before, seen);
  },
};

/** The agent's modes, which some tell as one of their options. */
function modesOf(state: JsonObject): { readonly now: unknown; readonly all: readonly unknown[] } {
  const modes = objectAt(state, "modes");
  if (modes !== null) {
    return { now: modes.currentModeId, all: objectsIn(modes.availableModes).map(({ id }) => id) };
  }
  const option = objectsIn(state.configOptions).find(({ category }) => category === "mode");
  return { now: option?.currentValue, all: objectsIn(option?.options).map(({ value }) => value) };
}

const mode: Check = {
  name: "mode",
  title: "another mode of the agent is chosen, and the agent takes it",
  run: async (world) => {
    const session = await world.session();
    const { now, all } = modesOf(await stateOf(session));
    const other = all.find((id) => id !== now);
    must(typeof other === "string", "the agent lists another mode", now, all);
    await session.ask("POST", "/agent-mode", { mode: other });
    const { verdict } = await session.turn("[[say: in another mode]]");
    must(verdict.type === "turn_complete", "a turn in it goes well", verdict.data);
    const { body } = await session.ask("GET", "/approvals");
    const seen = objectAt(body, "agentMode") ?? {};
    must(seen.chosen === other, "the mode is chosen", seen);
    const refused = session.events.find(({ type }) => type === "agent_setting_refused");
    must(refused === undefined, "the agent takes the mode", refused?.data);
  },
};

const MCP_PAUSE_MS = 500;
const MCP_TURNS_MAX = 20;

/** A tool of an MCP server, what stands in its answer, and how the model is told to call it. */
interface WantedTool {
  readonly name: string;
  readonly answer: string;
  readonly command: string;
}

/** How the model comes to a tool, which it calls. */
async function usedTool(world: World, { name, answer, command }: WantedTool): Promise<McpUse> {
  const session = await world.session();
  const { requests } = world.model;
  let [text, first] = ["", 0];
  // Many agents connect to MCP servers only in the course of the first turn, beside it.
  for (let tries = 0; tries < MCP_TURNS_MAX && !text.includes("done"); tries += 1) {
    if (tries > 0) await pause(MCP_PAUSE_MS);
    first = requests.length;
    ({ text } = await session.turn(command));
  }
  const isSaid = (words: string) => {
    return requests.some(({ messages }) => messages.some((one) => isResult(one, words)));
  };
  // Either among the tools, or as what a search for tools has found.
  const isListed = (tools: readonly Tool[]) => tools.some((one) => one.name.includes(name));
  const isOffered = requests.some(({ tools }) => isListed(tools)) || isSaid(name);
  must(isOffered, "the tool is offered to the model", text, requests.at(-1)?.tools.map(nameOf));
  must(isSaid(answer), "the tool is called", text);
  const atFirst = requests.slice(first).find(({ tools }) => tools.length > 0);
  return isListed(atFirst?.tools ?? []) ? "offered" : "deferred";
}

function isResult({ role, text }: Message, words: string): boolean {
  return role === "tool" && text.includes(words);
}

const nameOf = ({ name }: Tool) => name;

const mcp: Check = {
  name: "mcp",
  title: "a tool of an MCP server is offered to the model, and called",
  run: async (world) => {
    const command = "[[tool: stamp_it]]";
    await usedTool(world, { name: "stamp_it", answer: MCP_STAMP, command });
    must(world.mcpListed > 0, "the agent asks the MCP server for its tools");
  },
};

const SKILL_MARK = "STAMP-OF-SKILL";

const ownTools: Check = {
  name: "own-tools",
  title: "P7: the server's `read_skill` reaches the model as its profile says, and reads a skill",
  run: async (world) => {
    const profile = KNOWN_PROFILES.find(({ name }) => name === world.agent.name);
    const folder = join(world.workspace, ".fermata/skills/contract");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "SKILL.md"), `---\nsummary: A stamp.\n---\n\n${SKILL_MARK}\n`);
    try {
      if (profile?.mcp === "withheld") return await mustBeSkipped(world);
      const command = `[[tool: read_skill | {"name":"contract"} | ${SKILL_MARK}]]`;
      const use = await usedTool(world, { name: "read_skill", answer: SKILL_MARK, command });
      must(use === profile?.mcp, "the profile says how the model gets it", use, profile?.mcp);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};

/** An agent that would not offer it is not given it, and its session says so. */
async function mustBeSkipped(world: World): Promise<void> {
  const session = await world.session();
  const { body } = await session.ask("GET", "/status");
  const seen = JSON.stringify(body.skipped);
  must(seen?.includes("tool read_skill") === true, "the session says what is skipped", body);
}

export const SETTINGS: readonly Check[] = [model, mode, mcp, ownTools];

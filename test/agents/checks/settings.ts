// Models, modes and the tools of MCP servers.

import { setTimeout as pause } from "node:timers/promises";
import { type JsonObject, objectAt, stringAt } from "../../../src/core/json.ts";
import type { HostedSession } from "../hosted.ts";
import { MCP_STAMP } from "../model/obey.ts";
import { objectsIn } from "../model/request.ts";
import { must } from "../must.ts";
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

const mcp: Check = {
  name: "mcp",
  title: "a tool of an MCP server is offered to the model, and called",
  run: async (world) => {
    const session = await world.session();
    // Many agents connect to MCP servers only in the course of the first turn, beside it.
    let { text, asks } = await session.turn("[[tool: stamp_it]]");
    for (let tries = 1; tries < MCP_TURNS_MAX && !text.includes("done"); tries += 1) {
      await pause(MCP_PAUSE_MS);
      ({ text, asks } = await session.turn("[[tool: stamp_it]]"));
    }
    must(world.mcpListed > 0, "the agent asks the MCP server for its tools");
    // Either among the tools, or as what a search for tools has found.
    const offered = world.model.requests.some(({ tools, messages }) => {
      const found = messages.some((one) => one.role === "tool" && one.text.includes("stamp_it"));
      return found || tools.some(({ name }) => name.includes("stamp_it"));
    });
    const names = world.model.requests.at(-1)?.tools.map(({ name }) => name);
    must(offered, "the tool is offered to the model", text, names);
    const called = world.model.requests.some(({ messages }) => {
      return messages.some((one) => one.role === "tool" && one.text.includes(MCP_STAMP));
    });
    must(called, "the tool is called", text, asks.length);
  },
};

export const SETTINGS: readonly Check[] = [model, mode, mcp];

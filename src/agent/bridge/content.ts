import type { ContentBlock } from "../../core/agent-update.ts";
import { type JsonObject, objectAt, stringAt } from "../../core/json.ts";

/**
 * A prompt's content as this agent can take it. What it cannot take is turned into text where that
 * loses nothing, and else named, so that neither the agent nor a person wonders where it went.
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

/** Servers that this agent can reach; stdio is what every agent can do. */
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

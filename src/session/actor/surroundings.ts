import { createHash } from "node:crypto";
import type { AgentSession } from "../../agent/agent.ts";
import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { SURROUNDINGS_MS_MAX } from "../../core/limits.ts";
import type { Surroundings } from "../../core/session/state.ts";
import type { LoadScope } from "../../loader/loader.ts";
import { look, PERSONA, SKILLS } from "../choice/knowledge.ts";
import type { SessionWorld } from "../world.ts";

type Files = Pick<Surroundings, "skills" | "persona">;

const UNSEEN: Files = { skills: null, persona: null };

/** What the files of a session come to at the moment, to be compared with the last time. */
export async function filesAround(world: SessionWorld, place: LoadScope): Promise<Files> {
  const looks = [look(world, place, SKILLS), look(world, place, PERSONA)] as const;
  const [skills, persona] = await Promise.all(looks);
  return { skills, persona };
}

/** The same, as far as it is known soon: a disk that does not answer keeps nobody waiting. */
export function knownSoon({ clock }: SessionWorld, files: Promise<Files>): Promise<Files> {
  return new Promise((resolve) => {
    const callOff = clock.after(SURROUNDINGS_MS_MAX, () => resolve(UNSEEN));
    const told = (known: Files) => {
      callOff();
      resolve(known);
    };
    files.then(told, () => told(UNSEEN));
  });
}

/** All that is around a session, now that this agent is there. */
export function surroundingsOf(
  { offer }: AgentSession,
  files: Files,
  servers: readonly JsonObject[],
): Surroundings {
  const { agentName, agentVersion } = offer;
  const named = [agentName, agentVersion].filter((part) => part !== null).join(" ");
  return {
    agent: named === "" ? null : named,
    model: modelOf(offer.configOptions),
    ...files,
    mcpServers: servers.map(serverMark),
  };
}

function modelOf(configOptions: readonly JsonObject[]): string | null {
  const option = configOptions.find(({ category }) => category === "model");
  return option === undefined ? null : stringAt(option, "currentValue");
}

/** Its name, and a mark that changes with how it is reached; values may be secret, names not. */
function serverMark(server: JsonObject): string {
  const named = (list: unknown) =>
    Array.isArray(list) ? list.map((one) => (isObject(one) ? stringAt(one, "name") : null)) : [];
  const shape = { ...server, env: named(server.env), headers: named(server.headers) };
  const mark = createHash("sha256").update(JSON.stringify(shape)).digest("hex").slice(0, 8);
  return `${stringAt(server, "name") ?? "a server"} ${mark}`;
}

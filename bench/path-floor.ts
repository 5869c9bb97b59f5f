import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Latencies } from "./trial.ts";

const AGENT = fileURLToPath(new URL("path-agent.ts", import.meta.url));

const END = "stopReason";

/**
 * How long the agent alone takes for a turn, with a reader of its pipe that does nothing: no server
 * can have the turn sooner.
 */
export async function agentAlone(
  prompt: string,
  { warmUps, turns }: { readonly warmUps: number; readonly turns: number },
): Promise<Latencies> {
  const agent = spawn(process.execPath, [AGENT], { stdio: ["pipe", "pipe", "ignore"] });
  const latencies = new Latencies("the agent alone, without a server");
  const turn = async (id: number) => {
    const params = { sessionId: "alone", prompt: [{ type: "text", text: prompt }] };
    agent.stdin.write(`${JSON.stringify({ id, method: "session/prompt", params })}\n`);
    let tail: Buffer = Buffer.alloc(0);
    for await (const piece of agent.stdout.iterator({ destroyOnReturn: false })) {
      // The end of a turn may come in two pieces.
      const bytes: Buffer = Buffer.concat([tail, piece]);
      if (bytes.includes(END)) return;
      tail = bytes.subarray(-END.length);
    }
  };
  for (let n = 0; n < warmUps; n += 1) await turn(n);
  for (let n = 0; n < turns; n += 1) await latencies.of(() => turn(warmUps + n));
  const gone = once(agent, "exit");
  agent.kill();
  await gone;
  return latencies;
}

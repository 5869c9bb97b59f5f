import type { ServerProcess } from "../../wire-process.ts";
import { BenchClient } from "../client.ts";
import type { Place, StartWay } from "../contestant.ts";

/** A server that is started for this, and ended after it. */
export async function withOwn<Found>(
  place: Place,
  way: StartWay,
  act: (client: BenchClient, process: ServerProcess) => Promise<Found>,
): Promise<Found> {
  const { address, process, end } = await place.start(way);
  if (process === null) throw new Error("only a server that the bench starts can be measured so");
  const client = new BenchClient(address);
  try {
    return await act(client, process);
  } finally {
    client.leave();
    await end();
  }
}

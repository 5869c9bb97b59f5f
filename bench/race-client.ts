import { DaemonClient, DaemonSessionClient } from "@qwen-code/sdk/daemon";

export interface RaceRequest {
  readonly url: string;
  readonly workspace: string;
  readonly sessions: number;
  /** Prompts in all, so many of a session at once. */
  readonly count: number;
  readonly atOnce: number;
  /** How long the client's event loop is blocked, again and again; 0 is not at all. */
  readonly busyMs: number;
  /** A prompt that has not come back after this time hangs. */
  readonly patienceMs: number;
}

export interface RaceReport {
  readonly sent: number;
  readonly hung: number;
  /** Numbered verdicts; each prompt has one. */
  readonly verdicts: number;
}

type Sdk = Pick<typeof import("@qwen-code/sdk/daemon"), "DaemonClient" | "DaemonSessionClient">;

/**
 * Sends prompts to an instant agent through the SDK, with a stream open in each session, and counts
 * those that never come back. It runs in a page too, by its text, so it uses nothing around it.
 */
export async function race(sdk: Sdk, request: RaceRequest): Promise<RaceReport> {
  const { url, workspace, sessions, count, atOnce, busyMs, patienceMs } = request;
  const client = new sdk.DaemonClient({ baseUrl: url });
  let [sent, settled, verdicts] = [0, 0, 0];
  const runOne = async () => {
    const where = { workspaceCwd: workspace, sessionScope: "thread" } as const;
    const session = await sdk.DaemonSessionClient.createOrAttach(client, where);
    const events = session.events();
    // The stream is open once its first event is here.
    await events.next();
    const listen = async () => {
      for await (const { type, id } of events) {
        if (type === "turn_complete" && id !== undefined) verdicts += 1;
      }
    };
    void listen().catch(() => {});
    const prompt = async () => {
      sent += 1;
      const late = new Promise<number>((resolve) => setTimeout(resolve, patienceMs, 0));
      const back = session.prompt({ prompt: [{ type: "text", text: "say x" }] }).then(() => 1);
      const isBack = await Promise.race([back, late]);
      settled += isBack;
    };
    for (let begun = 0; begun < count / sessions; begun += atOnce) {
      await Promise.all(Array.from({ length: atOnce }, prompt));
    }
  };
  const block = () => {
    const until = performance.now() + busyMs;
    while (performance.now() < until);
  };
  const timer = busyMs > 0 ? setInterval(block, 3) : undefined;
  await Promise.all(Array.from({ length: sessions }, runOne));
  clearInterval(timer);
  return { sent, hung: sent - settled, verdicts };
}

// Only as a program: where tests load this file, messages are the test runner's.
if (import.meta.main) {
  process.on("message", (request: RaceRequest) => {
    const sdk = { DaemonClient, DaemonSessionClient };
    void race(sdk, request).then((report) => process.send?.(report, () => process.exit(0)));
  });
}

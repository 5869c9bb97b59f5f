import type { Runner } from "./harness.ts";

export interface Outcome {
  readonly title: string;
  readonly outcome: "pass" | "fail" | "n/a";
  /** What went wrong, or why it does not apply. */
  readonly detail: string;
}

/** A runner of its own: takes all checks, then runs them one after the other and remembers. */
export class RecordingRunner implements Runner {
  readonly #checks: (() => Promise<Outcome>)[] = [];

  test(title: string, body: () => Promise<void>) {
    this.#checks.push(() =>
      body().then(
        () => ({ title, outcome: "pass", detail: "" }),
        (thrown: unknown) => ({ title, outcome: "fail", detail: String(thrown) }),
      ),
    );
  }

  notApplicable(title: string, detail: string) {
    this.#checks.push(async () => ({ title, outcome: "n/a", detail }));
  }

  async run(): Promise<readonly Outcome[]> {
    const outcomes: Outcome[] = [];
    for (const check of this.#checks) outcomes.push(await check());
    return outcomes;
  }
}

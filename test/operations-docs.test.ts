// docs/operations.md is what people run a server for a team by. Its story is played, with the real
// command, and what it prints is compared.

import { beforeAll, describe, expect, it } from "vitest";
import { readText } from "./house/files.ts";
import { examplesIn, masked, type Played, play } from "./server/curl.fixture.ts";

describe("the story of docs/operations.md", () => {
  const examples = examplesIn(readText("docs/operations.md"));
  let played: Played = { printed: [], exitCode: null, complaints: "" };

  beforeAll(async () => {
    played = await play(examples);
  }, 60_000);

  it("runs from the first token to a restored backup", () => {
    const { exitCode, complaints, printed } = played;
    expect({ exitCode, complaints, ran: printed.length }).toMatchObject({
      exitCode: 0,
      ran: examples.length,
    });
    expect(examples.map(({ title }) => title)).toContain("Backup");
  });

  it("prints what the document shows", () => {
    const shown = examples.map((example) => example.shown);
    const printed = examples.map(({ shown }, at) => (shown === null ? null : told(played, at)));
    expect(shown.filter((text) => text !== null).length).toBeGreaterThanOrEqual(7);
    expect(masked(printed)).toEqual(masked(shown));
  });
});

function told({ printed }: Played, at: number): string {
  return printed[at] ?? "(it did not come to this)";
}

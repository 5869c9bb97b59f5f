import { describe, expect, it } from "vitest";
import { parseTenantId } from "../../core/id.ts";
import { FILES_SENT_MAX } from "../../core/limits.ts";
import { given } from "../../session/world.fixture.ts";
import { type Answer, file, json } from "./answer.ts";
import { SentFiles } from "./delivery.ts";

const ACME = given(parseTenantId("acme"));
const OTHER = given(parseTenantId("other"));

async function* nothing() {}

const aFile = (): Answer => file("text/csv", nothing());

const arrive = (answer: Answer | undefined) => answer?.afterwards?.("delivered");

describe("P10: files that are on their way", () => {
  it("are so many of a tenant, and the next comes later; others have their own", () => {
    const files = new SentFiles();
    const sent = Array.from({ length: FILES_SENT_MAX }, () => files.counted(ACME, aFile()));
    expect(sent.map(({ kind }) => kind)).toEqual(sent.map(() => "file"));
    expect(files.counted(ACME, aFile())).toMatchObject({
      status: 429,
      text: expect.stringContaining("file_limit_exceeded"),
      headers: { "Retry-After": "5" },
    });
    expect(files.counted(OTHER, aFile()).kind).toBe("file");
    arrive(sent[0]);
    expect(files.counted(ACME, aFile()).kind).toBe("file");
    expect(files.counted(ACME, aFile()).kind).toBe("json");
  });

  it("tell whoever sent them how they ended, and no other answer is counted", () => {
    const files = new SentFiles();
    const fates: string[] = [];
    const told = { ...aFile(), afterwards: (fate: string) => void fates.push(fate) };
    files.counted(ACME, told).afterwards?.("lost");
    expect(fates).toEqual(["lost"]);
    const plain = json(200, {});
    for (let n = 0; n <= FILES_SENT_MAX; n += 1) expect(files.counted(ACME, plain)).toBe(plain);
  });
});

import { expect, it } from "vitest";
import { unknownAgent } from "./agent-name.ts";
import { sentenceOf } from "./error.ts";

it.each([
  ["gemni", 'There is no agent "gemni"; did you mean "gemini"? Known: qwen, gemini.'],
  ["nobody", 'There is no agent "nobody"; known are: qwen, gemini.'],
])("an agent %s that there is not is refused with those that there are", (name, sentence) => {
  const { refusal } = unknownAgent(name, ["qwen", "gemini"]);
  expect(sentenceOf(refusal)).toBe(sentence);
  expect(refusal.details).toMatchObject({ profile: name, known: "qwen, gemini" });
});

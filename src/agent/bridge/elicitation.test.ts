import { describe, expect, it } from "vitest";
import { ELICITATION_URL_CHARS_MAX } from "../../core/limits.ts";
import { CANCELLED, selected } from "../../core/policy/ask.ts";
import { formAnswer, formAsk } from "./elicitation.ts";
import { OpenPages, pageAsk, readPage } from "./pages.ts";

const questionsOf = (params: Parameters<typeof formAsk>[0]) =>
  formAsk(params, "question-1").toolCall.rawInput;

describe("a form", () => {
  const params = {
    mode: "form",
    message: "How shall I deploy?",
    requestedSchema: {
      properties: {
        where: { type: "string", title: "Where to?" },
        replicas: { type: "integer" },
        dry: { type: "boolean", title: "Dry run", description: "Only try?" },
        regions: { type: "array", items: { enum: ["eu", "us"] } },
      },
    },
  };

  it("becomes a question for each field, to be answered or declined", () => {
    const ask = formAsk(params, "question-1");
    const yesOrNo = [{ label: "Yes" }, { label: "No" }];
    const regions = [{ label: "eu" }, { label: "us" }];
    expect(ask).toMatchObject({
      kind: "user_question",
      toolCall: {
        toolCallId: "question-1",
        title: "How shall I deploy?",
        rawInput: {
          questions: [
            { answerKey: "where", question: "Where to?" },
            { answerKey: "replicas", question: "replicas" },
            { answerKey: "dry", header: "Dry run", question: "Only try?", options: yesOrNo },
            { answerKey: "regions", question: "regions", options: regions, multiSelect: true },
          ],
        },
      },
    });
    expect(ask.options.map(({ optionId }) => optionId)).toEqual(["accept", "decline"]);
  });

  it("is answered with values of the kinds that the form wants", () => {
    const answers = { where: "prod", replicas: "3", dry: "Yes", regions: "eu, us" };
    expect(formAnswer(params, { outcome: selected("accept"), answers })).toEqual({
      action: "accept",
      content: { where: "prod", replicas: 3, dry: true, regions: ["eu", "us"] },
    });
  });

  it("is declined or cancelled as the person did", () => {
    expect(formAnswer(params, { outcome: selected("decline") })).toEqual({ action: "decline" });
    expect(formAnswer(params, { outcome: CANCELLED })).toEqual({ action: "cancel" });
  });
});

describe("a form of Claude Code's AskUserQuestion", () => {
  const choice = (label: string) => ({ const: label, title: label, description: `drop ${label}` });
  const single = {
    message: "Which database shall I drop?",
    requestedSchema: {
      type: "object",
      properties: {
        question_0: { type: "string", title: "DB", oneOf: [choice("orders"), choice("users")] },
        question_0_custom: { type: "string", title: "Other", description: "Type your own." },
      },
    },
  };
  const several = {
    message: "Please answer the following questions.",
    requestedSchema: {
      properties: {
        question_0: { type: "string", title: "DB", description: "Which one?", enum: ["a", "b"] },
        question_1: {
          type: "array",
          title: "Parts",
          description: "Which parts?",
          items: { anyOf: [choice("tables, views"), choice("rows")] },
        },
        question_1_custom: { type: "string", title: "Other" },
      },
    },
  };

  it("shows the question itself and its options, not the header", () => {
    expect(questionsOf(single)).toMatchObject({
      questions: [
        {
          answerKey: "question_0",
          header: "DB",
          question: "Which database shall I drop?",
          options: [
            { label: "orders", description: "drop orders" },
            { label: "users", description: "drop users" },
          ],
          multiSelect: false,
        },
      ],
    });
    expect(questionsOf(several)).toMatchObject({
      questions: [
        { answerKey: "question_0", header: "DB", question: "Which one?", multiSelect: false },
        { answerKey: "question_1", header: "Parts", question: "Which parts?", multiSelect: true },
      ],
    });
  });

  const filled = (params: typeof single | typeof several, answers: Record<string, string>) =>
    formAnswer(params, { outcome: selected("accept"), answers }).content;

  it("takes an answer that is none of the options as the person's own", () => {
    expect(filled(single, { question_0: "users" })).toEqual({ question_0: "users" });
    expect(filled(single, { question_0: "none of them" })).toEqual({
      question_0_custom: "none of them",
    });
    expect(filled(single, { question_0: "users", question_0_custom: "a note" })).toEqual({
      question_0: "users",
      question_0_custom: "a note",
    });
  });

  it("does not divide an option at its own comma", () => {
    expect(filled(several, { question_1: "rows, tables, views, the rest" })).toEqual({
      question_1: ["rows", "tables, views"],
      question_1_custom: "the rest",
    });
    expect(filled(several, { question_1: '["tables, views"]' })).toEqual({
      question_1: ["tables, views"],
    });
  });

  it("P10: reads a long answer once", () => {
    const content = filled(several, { question_1: "rows,".repeat(200_000) });
    expect(content?.question_1).toHaveLength(200_000);
  });
});

describe("a page", () => {
  const params = { elicitationId: "e1", message: "Sign in.", url: "https://Example.com/a?b=c" };

  it("is shown with its address, to be opened or declined", () => {
    const page = readPage(params);
    const ask = page.ok ? pageAsk(page.value, "question-1") : null;
    expect(ask).toMatchObject({
      kind: "user_question",
      toolCall: {
        title: "Sign in.",
        rawInput: {
          url: "https://example.com/a?b=c",
          questions: [{ header: "example.com", question: "Sign in.\nhttps://example.com/a?b=c" }],
        },
      },
    });
    expect(ask?.options.map(({ optionId }) => optionId)).toEqual(["accept", "decline"]);
  });

  it.each([
    ["no page of the web", { ...params, url: "javascript:alert(1)" }],
    ["a file", { ...params, url: "file:///etc/passwd" }],
    ["no address", { ...params, url: "sign in here" }],
    ["a user name that hides the host", { ...params, url: "https://bank.example@evil.example/" }],
    ["too long", { ...params, url: `https://a/${"x".repeat(ELICITATION_URL_CHARS_MAX)}` }],
    ["without an address", { elicitationId: "e1", message: "" }],
    ["without an id", { url: "https://a/" }],
  ])("is refused if it is %s", (_, wrong) => {
    expect(readPage(wrong)).toMatchObject({ refusal: { code: "elicitation_invalid" } });
  });

  it("ends when the agent is done with it, and once only for each id", async () => {
    const page = readPage(params);
    if (!page.ok) return expect.fail();
    const pages = new OpenPages();
    const signal = new AbortController().signal;
    const ended = (either: AbortSignal) =>
      new Promise<{ outcome: typeof CANCELLED }>((resolve) => {
        either.addEventListener("abort", () => resolve({ outcome: CANCELLED }));
      });
    const first = pages.show(page.value, signal, ended);
    const second = await pages.show(page.value, signal, ended);
    expect(second).toMatchObject({ refusal: { code: "elicitation_invalid" } });
    pages.complete({ elicitationId: "another" });
    pages.complete({ elicitationId: "e1" });
    expect(await first).toEqual({ ok: true, value: { action: "accept" } });
    pages.complete({ elicitationId: "e1" });
  });
});

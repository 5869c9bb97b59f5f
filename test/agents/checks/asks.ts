// What an agent may do, and who is asked: with the agent's own defaults.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type HostedSession, optionsOf, type Turn, updateOf } from "../hosted.ts";
import { objectsIn } from "../model/request.ts";
import { must } from "../must.ts";
import type { WireEvent } from "../wire-client.ts";
import { type Check, mark } from "./check.ts";

const TOLD_IN_TIME_MS = 10_000;

function oneAsk({ asks, events, text }: Turn): void {
  const updates = events.map((event) => updateOf(event).sessionUpdate ?? event.type);
  must(asks.length === 1, "people are asked exactly once", asks.length, text, updates.join(" "));
}

const askShell: Check = {
  name: "ask-shell",
  title: "a shell command is asked about once, and runs when it is allowed",
  run: async (world) => {
    const session = await world.session();
    const file = join(world.workspace, `${mark("ran")}.txt`);
    const promptId = await session.prompt(`[[run: echo ran > ${file}]]`);
    const asked = await session.asked(promptId);
    must(!existsSync(file), "nothing runs before it is allowed");
    await session.vote(asked, "allow_once");
    const turn = await session.finish(promptId, "allow_once");
    oneAsk(turn);
    must(existsSync(file), "what was allowed is done", turn.text);
  },
};

const askEdit: Check = {
  name: "ask-edit",
  title: "the change of a file is asked about once, and done when it is allowed",
  run: async (world) => {
    const session = await world.session();
    const file = join(world.workspace, `${mark("changed")}.txt`);
    writeFileSync(file, "first line\nold words\nlast line\n");
    const prompt = `[[edit: ${file} | old words | new words]]`;
    const turn = await session.turn(prompt);
    const text = readFileSync(file, "utf8");
    must(
      text.includes("new words") && text.includes("first line"),
      "the file is changed",
      turn.text,
    );
    // Some ask before they read the file too, which is an ask of its own.
    const changes = turn.asks.filter((ask) => JSON.stringify(ask).includes("new words"));
    oneAsk(changes.length > 0 ? { ...turn, asks: changes } : turn);
  },
};

const newFile: Check = {
  name: "new-file",
  title: "a new file is asked about once, and written when it is allowed",
  run: async (world) => {
    const session = await world.session();
    const file = join(world.workspace, `${mark("made")}.txt`);
    const turn = await session.turn(`[[write: ${file} | new content]]`);
    const isThere = existsSync(file) && readFileSync(file, "utf8").includes("new content");
    must(isThere, "the file is written", turn.text, toolWords(turn.events));
    oneAsk(turn);
  },
};

const deny: Check = {
  name: "deny",
  title: "what is denied is not done",
  run: async (world) => {
    const session = await world.session();
    const file = join(world.workspace, `${mark("denied")}.txt`);
    const promptId = await session.prompt(`[[run: echo ran > ${file}]]`);
    const asked = await session.asked(promptId);
    await session.vote(asked, "reject_once");
    const { verdict } = await session.finish(promptId, "reject_once");
    must(!existsSync(file), "what was denied is not done");
    must(verdict.type === "turn_complete", "the turn goes on to its end", verdict.data);
  },
};

const cancelAsked: Check = {
  name: "cancel-asked",
  title: "P2: a cancel while people are asked ends the ask and the turn",
  run: async (world) => {
    const session = await world.session();
    const file = join(world.workspace, `${mark("cancelled")}.txt`);
    const promptId = await session.prompt(`[[run: echo ran > ${file}]]`);
    const asked = await session.asked(promptId);
    await session.ask("POST", "/cancel");
    const verdict = await session.verdict(promptId, TOLD_IN_TIME_MS);
    must(verdict.data.stopReason === "cancelled", "the verdict is `cancelled`", verdict.data);
    const resolved = await session.heard(
      "the ask is resolved",
      ({ type, data }) => type === "permission_resolved" && data.requestId === asked.data.requestId,
      TOLD_IN_TIME_MS,
    );
    must(resolved.data.reason === "turn_cancelled", "the ask says why it ended", resolved.data);
    must(!existsSync(file), "what was not allowed is not done");
  },
};

const key: Check = {
  name: "key",
  title: "the key of an ask is the command",
  run: async (world) => {
    const session = await world.session();
    const command = `echo ${mark("key")} > ${join(world.workspace, "key.txt")}`;
    const promptId = await session.prompt(`[[run: ${command}]]`);
    const asked = await session.asked(promptId);
    await session.vote(asked, "reject_once");
    await session.finish(promptId, "reject_once");
    const keys = JSON.stringify(asked.data.keys);
    must(keys === JSON.stringify([`execute:${command}`]), "the key is the command", keys);
  },
};

const always: Check = {
  name: "allow-always",
  title: "`allow_always` on one command allows no other",
  run: async (world) => {
    const session = await world.session();
    const [one, two] = ["one", "two"].map((name) => join(world.workspace, `${mark(name)}.txt`));
    const first = await session.prompt(`[[run: echo harmless > ${one}]]`);
    const asked = await session.asked(first);
    const offers = optionsOf(asked).some(({ kind }) => kind === "allow_always");
    await session.vote(asked, offers ? "allow_always" : "allow_once");
    await session.finish(first, "allow_once");
    must(existsSync(`${one}`), "what was allowed is done");
    await unasked(session, `cp ${one} ${two}`);
    must(!existsSync(`${two}`), "another command is asked about again");
  },
};

/** A command that must not run unless people allow it, and they do not. */
async function unasked(session: HostedSession, command: string): Promise<void> {
  const promptId = await session.prompt(`[[run: ${command}]]`);
  const asked = await session.asked(promptId);
  await session.vote(asked, "reject_once");
  await session.finish(promptId, "reject_once");
}

const FORMATS = ["html", "md", "json", "jsonl"];

const output: Check = {
  name: "output",
  title: "the output of a command is in live events, in `load` and in every export",
  run: async (world) => {
    const session = await world.session();
    const word = mark("out");
    // The words that it prints stand nowhere in the command.
    const { events, text } = await session.turn(`[[run: printf 'seen-%s-here' ${word}]]`);
    const printed = `seen-${word}-here`;
    must(!text.includes(printed), "the agent does not say the output itself", text);
    const { body } = await session.ask("POST", "/load", {});
    const places = [
      ["live events", JSON.stringify(events)],
      ["load", JSON.stringify([body.compactedReplay, body.liveJournal])],
    ];
    for (const format of FORMATS) {
      const { text: file } = await session.ask("GET", `/export?format=${format}`);
      places.push([`export ${format}`, file]);
    }
    const missing = places.filter(([, seen]) => !seen?.includes(printed)).map(([name]) => name);
    const model = world.model.requests.some(({ messages }) =>
      messages.some((one) => one.role === "tool" && one.text.includes(printed)),
    );
    must(model, "the model is sent the output", toolWords(events));
    must(missing.length === 0, `the output is in ${missing.join(", ")}`, toolWords(events));
  },
};

const TOOL_CHARS = 900;

/** What was told of tool calls, to find out why one did not work. */
function toolWords(events: readonly WireEvent[]): string {
  const updates = events.map(updateOf).filter(({ sessionUpdate }) => {
    return sessionUpdate === "tool_call" || sessionUpdate === "tool_call_update";
  });
  return JSON.stringify(objectsIn(updates)).slice(0, TOOL_CHARS);
}

export const ASKS: readonly Check[] = [
  askShell,
  askEdit,
  newFile,
  deny,
  cancelAsked,
  key,
  always,
  output,
];

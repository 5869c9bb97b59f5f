// Streams, memory, several sessions, images and files: what is said.

import { crc32, deflateSync } from "node:zlib";
import { chunksOf, isVerdict } from "../hosted.ts";
import { must } from "../must.ts";
import { type Check, mark } from "./check.ts";

const stream: Check = {
  name: "stream",
  title: "P2: an answer comes in several chunks, with one verdict",
  run: async (world) => {
    const session = await world.session();
    const word = mark("STREAM");
    const { promptId, text, events, verdict } = await session.turn(`[[slowly: 20 | ${word}]]`);
    must(verdict.data.stopReason === "end_turn", "the turn ends with end_turn", verdict.data);
    const expected = Array.from({ length: 20 }, (_, index) => `${word}-${index + 1}`).join(" ");
    must(text.trim() === expected, "the whole answer is heard, once and in order", text);
    must(chunksOf(events).length > 1, "the answer comes in several chunks", text);
    await session.turn("[[say: next]]");
    const verdicts = session.events.filter((event) => isVerdict(event, promptId));
    must(verdicts.length === 1, "a prompt has one verdict", verdicts.length);
  },
};

const memory: Check = {
  name: "memory",
  title: "the second turn remembers the first",
  run: async (world) => {
    const session = await world.session();
    const word = mark("SECRET");
    await session.turn(`The word is ${word}. [[say: I see]]`);
    const { text } = await session.turn(`[[recall: ${word} | ${word}NOT]]`);
    must(text.includes(`${word}=yes`), "the model is sent the first turn again", text);
    must(text.includes(`${word}NOT=no`), "the model does not remember what was not said", text);
  },
};

const twoSessions: Check = {
  name: "two-sessions",
  title: "P8: two sessions in one process do not mix",
  run: async (world) => {
    const [one, two] = [await world.session(), await world.session()];
    const before = world.agents.length;
    const [first, second] = [mark("ONE"), mark("TWO")];
    const turns = await Promise.all([
      one.turn(`[[slowly: 15 | ${first}]]`),
      two.turn(`[[slowly: 15 | ${second}]]`),
    ]);
    const [a, b] = turns.map(({ text }) => text);
    must(a?.includes(`${first}-15`) === true && !a.includes(second), "each says its own", a);
    must(b?.includes(`${second}-15`) === true && !b.includes(first), "each says its own", b);
    const { text } = await two.turn(`[[recall: ${first} | ${second}]]`);
    must(text.includes(`${first}=no`), "no session remembers another's words", text);
    must(text.includes(`${second}=yes`), "each session remembers its own words", text);
    must(before === 1, "two sessions have one process", before);
  },
};

const image: Check = {
  name: "image",
  title: "an image reaches the model",
  run: async (world) => {
    const session = await world.session();
    const block = { type: "image", mimeType: "image/png", data: png().toString("base64") };
    const { text } = await session.turn("[[images]]", { blocks: [block] });
    must(/images=[1-9]/.test(text), "the model is sent the image", text);
  },
};

const embedded: Check = {
  name: "embedded",
  title: "an embedded file reaches the model",
  run: async (world) => {
    const session = await world.session();
    const word = mark("EMBEDDED");
    const uri = `file://${world.workspace}/notes.txt`;
    const resource = { uri, mimeType: "text/plain", text: `Notes: ${word}.` };
    const blocks = [{ type: "resource", resource }];
    const { text } = await session.turn(`[[recall: ${word}]]`, { blocks });
    must(text.includes(`${word}=yes`), "the model is sent the file", text);
  },
};

/** A picture of 64 by 64 grey points: some agents look into it. */
function png(): Buffer {
  const size = 64;
  const part = (name: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(name, "ascii"), data]);
    const around = Buffer.alloc(8);
    around.writeUInt32BE(data.length, 0);
    around.writeUInt32BE(crc32(body), 4);
    return Buffer.concat([around.subarray(0, 4), body, around.subarray(4)]);
  };
  const head = Buffer.from([0, 0, 0, size, 0, 0, 0, size, 8, 0, 0, 0, 0]);
  const rows = Buffer.alloc((size + 1) * size, 0x7f);
  // Each row begins with how it is coded: as it is.
  for (let row = 0; row < size; row += 1) rows[row * (size + 1)] = 0;
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    part("IHDR", head),
    part("IDAT", deflateSync(rows)),
    part("IEND", Buffer.alloc(0)),
  ]);
}

export const TALK: readonly Check[] = [stream, memory, twoSessions, image, embedded];

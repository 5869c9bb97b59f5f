import { z } from "zod";
import { readTextFile, writeTextFile } from "../../agent/workspace/files.ts";
import type { OwnFolders } from "../../agent/workspace/location.ts";
import { answered, CALLED_OFF, failed, failedBy } from "../answer.ts";
import { type Builtin, builtin, pathIn, recordedAlready, SYSTEM_TEXT } from "./builtin.ts";

/** Reading and writing files of the workspace, as far as they are not the server's own. */
export function fileTools(own: OwnFolders): readonly [Builtin, Builtin] {
  return [readTool(own), writeTool(own)];
}

/** Reads a file of the workspace, or some of its lines. */
const readTool = (own: OwnFolders): Builtin =>
  builtin({
    name: "read_file",
    description: "Read a text file of the workspace: {path, line?, limit?}, or a path.",
    schema: z.strictObject({
      path: SYSTEM_TEXT,
      line: z.int().min(1).optional(),
      limit: z.int().min(1).optional(),
    }),
    meaning: (words) => ({ path: words.trim() }),
    describe: ({ path }, place) => ({
      title: `Read ${path}`,
      kind: "read",
      locations: [{ path: pathIn(place, path) }],
    }),
    run: async ({ path, line = null, limit = null }, place, signal) => {
      if (signal.aborted) return failed(CALLED_OFF);
      const order = { workspace: place.workspaceCwd, path: pathIn(place, path), line, limit, own };
      const read = await readTextFile(order, recordedAlready);
      return read.ok ? answered(read.value.content) : failedBy(read.refusal);
    },
  });

/** Writes a file of the workspace, whole or not at all. */
const writeTool = (own: OwnFolders): Builtin =>
  builtin({
    name: "write_file",
    description: "Write a text file of the workspace: {path, content}, or a path and the content.",
    schema: z.strictObject({ path: SYSTEM_TEXT, content: z.string() }),
    // A path alone would empty the file, which nobody means by it.
    meaning: (words) => {
      const [, path = "", content] = /^\s*(\S+)(?:\s(.*))?$/s.exec(words) ?? [];
      return content === undefined ? { path } : { path, content };
    },
    describe: ({ path }, place) => ({
      title: `Write ${path}`,
      kind: "edit",
      locations: [{ path: pathIn(place, path) }],
    }),
    run: async ({ path, content }, place, signal) => {
      if (signal.aborted) return failed(CALLED_OFF);
      const order = { workspace: place.workspaceCwd, path: pathIn(place, path), content, own };
      const written = await writeTextFile(order, recordedAlready);
      if (!written.ok) return failedBy(written.refusal);
      return answered(`Wrote ${Buffer.byteLength(content)} bytes to ${path}.`);
    },
  });

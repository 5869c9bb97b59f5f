import { EXPORT_CHUNK_CHARS } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import { cutText } from "../../core/text.ts";
import { apart, ChildSections, mayTellOfChildren } from "./child-sections.ts";
import { markdown } from "./markdown.ts";
import type { ExportReader } from "./permits.ts";
import {
  type Exported,
  type ExportSource,
  messageTexts,
  type PastPart,
  parsed,
  storedEvent,
  turnEvents,
  wholePast,
} from "./source.ts";

interface FormatWriter {
  readonly mediaType: string;
  readonly write: (exported: Exported) => AsyncIterable<string>;
}

/** The file extension of each format. */
export const EXPORT_FORMAT_NAMES = ["html", "json", "jsonl", "md"] as const;

export type ExportFormat = (typeof EXPORT_FORMAT_NAMES)[number];

const EXPORT_FORMATS = {
  html: { mediaType: "text/html; charset=utf-8", write: html },
  json: { mediaType: "application/json", write: jsonDocument },
  jsonl: { mediaType: "application/x-ndjson", write: jsonLines },
  md: { mediaType: "text/markdown; charset=utf-8", write: markdown },
} as const satisfies Readonly<Record<ExportFormat, FormatWriter>>;

/** A file that is being written. */
export interface OpenedExport {
  /** If it cannot be written to its end, they end with an `ExportBroken`. */
  readonly pieces: AsyncIterable<string>;
  /** Nothing more of it is read. */
  end(): Promise<void>;
}

/** A session as a file, and what kind of file that is. */
export interface ExportedFile extends OpenedExport {
  readonly mediaType: string;
}

/** Writes exports: in processes of their own, or where time is simulated, in this one. */
export interface ExportWriter {
  /** Begins to write a file, for a reader who may leave at any time. */
  open(
    exported: Exported,
    format: ExportFormat,
    reader: ExportReader,
  ): Promise<Result<OpenedExport>>;
  /** Resolves when nothing is written any more. */
  end(): Promise<void>;
}

/** Reads what an export begins with. A session that cannot be read is a refusal. */
export async function openExport(source: ExportSource): Promise<Result<Exported>> {
  const record = await source.record();
  if (!record.ok) return record;
  const manifest = await source.manifest();
  if (!manifest.ok) return manifest;
  return ok({ source, record: record.value, manifest: manifest.value });
}

/** The file of a session, in pieces, with what kind of file that is. */
export async function exportFile(
  source: ExportSource,
  format: ExportFormat,
  reader: ExportReader,
  writer: ExportWriter,
): Promise<Result<ExportedFile>> {
  const exported = await openExport(source);
  if (!exported.ok) return exported;
  const opened = await writer.open(exported.value, format, reader);
  const { mediaType } = EXPORT_FORMATS[format];
  return opened.ok ? ok({ ...opened.value, mediaType }) : opened;
}

/**
 * Writes a session as a file, in pieces, and holds at most one page of the store in memory. If the
 * session cannot be read any further, the pieces end with an `ExportBroken`.
 */
export function writeExport(exported: Exported, format: ExportFormat): AsyncIterable<string> {
  return evenPieces(EXPORT_FORMATS[format].write(exported));
}

/**
 * Joins small pieces, so that a long turn does not become many writes, and cuts large ones, so that
 * no write holds the others.
 */
async function* evenPieces(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let open = "";
  for await (const piece of pieces) {
    open += piece;
    let at = 0;
    while (open.length - at > EXPORT_CHUNK_CHARS) {
      // One character more than is kept, so that the cut sees whether a pair goes over it.
      const chunk = cutText(open.slice(at, at + EXPORT_CHUNK_CHARS + 1), EXPORT_CHUNK_CHARS);
      yield chunk;
      at += chunk.length;
    }
    open = open.slice(at);
  }
  if (open !== "") yield open;
}

/** Loads the renderer of Markdown with the first HTML export, not when the server starts. */
async function* html(exported: Exported) {
  const { htmlDocument } = await import("./html.ts");
  yield* htmlDocument(exported);
}

/**
 * One document: what the session is, its conversation, its folded turns, and the raw events since
 * the last of them. What a child did is a section of its own: with its turn, or beside the raw
 * events. The stored texts go into it as they are.
 */
async function* jsonDocument({ source, record, manifest }: Exported) {
  const { holder: _, term: __, ...session } = record; // Who serves it is no part of a session.
  const head = { v: 1, kind: "fermata-session", session, manifest };
  yield `${JSON.stringify(head).slice(0, -1)},"messages":[`;
  yield* listed(messages());
  yield '],"turns":[';
  const children = new ChildSections();
  let isTail = false;
  let isFirst = true;
  for await (const part of wholePast(source, record)) {
    if (part.kind !== "turn" && !isTail) {
      yield '],"tail":[';
      isTail = true;
      isFirst = true;
    }
    for (const text of textsOf(part, children)) {
      yield isFirst ? text : `,${text}`;
      isFirst = false;
    }
  }
  yield isTail ? "]" : '],"tail":[]';
  if (!children.isEmpty) {
    yield ',"children":[';
    yield* children.pieces();
    yield "]";
  }
  yield "}\n";

  async function* messages() {
    for await (const { id, text } of messageTexts(source, record)) {
      yield checked(text, `message ${id}`);
    }
  }
}

/** Raw events of children are put to the others of theirs. */
function textsOf(part: PastPart, raw: ChildSections): readonly string[] {
  if (part.kind === "missing") return [JSON.stringify(part.notice)];
  if (part.kind === "events") {
    const texts = part.events.map(({ id, text }) => ({ id, text: checked(text, `event ${id}`) }));
    const own = texts.filter((stored) => {
      return !mayTellOfChildren(stored.text) || !raw.take(storedEvent(stored), stored.text);
    });
    return own.map(({ text }) => text);
  }
  const { firstId, lastId, text } = part.turn;
  const head = `{"firstId":${firstId},"lastId":${lastId},"events":`;
  if (!mayTellOfChildren(text)) {
    return [`${head}${checked(text, `the turn that ended with event ${lastId}`)}}`];
  }
  const { own, children } = apart(turnEvents(part.turn));
  const sections = children.isEmpty ? "" : `,"children":[${[...children.pieces()].join("")}]`;
  return [`${head}[${own.join(",")}]${sections}}`];
}

async function* listed(texts: AsyncIterable<string>) {
  let isFirst = true;
  for await (const text of texts) {
    yield isFirst ? text : `,${text}`;
    isFirst = false;
  }
}

/** The very same text, once it is known to be JSON. */
function checked(text: string, what: string): string {
  parsed(text, what);
  return text;
}

/** One event a line: those of the folded turns, then the raw ones since. */
async function* jsonLines({ source, record }: Exported) {
  for await (const part of wholePast(source, record)) {
    for (const line of linesOf(part)) yield `${line}\n`;
  }
}

function linesOf(part: PastPart): readonly string[] {
  if (part.kind === "missing") return [JSON.stringify(part.notice)];
  if (part.kind === "turn") return turnEvents(part.turn).map((event) => JSON.stringify(event));
  return part.events.map(({ id, text }) => {
    // A store may have been given JSON with line breaks; a line has none.
    return text.includes("\n") ? JSON.stringify(parsed(text, `event ${id}`)) : text;
  });
}

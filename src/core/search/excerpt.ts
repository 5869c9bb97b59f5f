import {
  SEARCH_EXCERPT_BEFORE_CHARS,
  SEARCH_EXCERPT_CHARS_MAX,
  SEARCH_MARKS_MAX,
  SEARCH_TEXT_CHARS_MAX,
} from "../limits.ts";
import { marked, type Sought } from "./query.ts";
import { wordsIn } from "./words.ts";

/** The part of a text in which something was found. */
export interface Excerpt {
  /** On one line. An ellipsis stands for what is left out before and behind. */
  readonly text: string;
  /** What was found: from which character of `text`, and to which. In order, and apart. */
  readonly marks: readonly Mark[];
}

type Mark = readonly [start: number, end: number];

/** The excerpt that shows the most of what is sought; null if the text has not all of it. */
export function excerptOf(text: string, sought: Sought): Excerpt | null {
  const searched = text.slice(0, SEARCH_TEXT_CHARS_MAX);
  const found = findingsIn(searched, sought);
  if (found === null) return null;
  const first = bestOf(found);
  const from = beginning(searched, first);
  const to = ending(searched, from);
  const [before, behind] = [from > 0 ? "…" : "", to < text.length ? "…" : ""];
  const shift = before.length - from;
  const inside = found.filter(({ start, end }) => start >= from && end <= to);
  const shown = inside.length > 0 ? inside : found.filter(({ start }) => start >= from).slice(0, 1);
  const line = searched.slice(from, to).toWellFormed().replace(NO_WORDS, " ");
  return {
    text: `${before}${line}${behind}`,
    marks: joined(shown.map(({ start, end }) => [start + shift, Math.min(end, to) + shift])),
  };
}

interface FoundTerm {
  readonly start: number;
  readonly end: number;
  /** Which of the terms it is. */
  readonly term: number;
}

/** Null if one of the terms is not there. */
function findingsIn(text: string, sought: Sought): readonly FoundTerm[] | null {
  const findings: FoundTerm[] = [];
  const missing = new Set(sought.keys());
  for (const word of wordsIn(text)) {
    if (findings.length >= SEARCH_MARKS_MAX && missing.size === 0) break;
    for (const [term, one] of sought.entries()) {
      const mark = marked(one, word, text);
      if (mark === null) continue;
      if (missing.delete(term) || findings.length < SEARCH_MARKS_MAX) {
        findings.push({ start: mark[0], end: mark[1], term });
      }
    }
  }
  return missing.size === 0 ? findings : null;
}

/** Where the excerpt begins that has the most different terms; the first one of those. */
function bestOf(findings: readonly FoundTerm[]): number {
  let best = 0;
  let start = 0;
  const inside = new Map<number, number>();
  let first = 0;
  for (const { term, end } of findings) {
    inside.set(term, (inside.get(term) ?? 0) + 1);
    for (let out = findings[first]; out && end - out.start > ROOM; out = findings[first]) {
      first += 1;
      const left = (inside.get(out.term) ?? 0) - 1;
      if (left > 0) inside.set(out.term, left);
      else inside.delete(out.term);
    }
    if (inside.size <= best) continue;
    best = inside.size;
    start = findings[first]?.start ?? 0;
  }
  return start;
}

const ROOM = SEARCH_EXCERPT_CHARS_MAX - SEARCH_EXCERPT_BEFORE_CHARS;

/** A little before what was found, and not within a word if there is a space. */
function beginning(text: string, found: number): number {
  const from = Math.max(0, found - SEARCH_EXCERPT_BEFORE_CHARS);
  if (from === 0) return 0;
  const space = text.slice(from, found).search(/\s/);
  return space < 0 ? apart(text, from) : from + space + 1;
}

function ending(text: string, from: number): number {
  const to = from + SEARCH_EXCERPT_CHARS_MAX;
  return to >= text.length ? text.length : apart(text, to);
}

/** Not between the halves of one character. */
function apart(text: string, at: number): number {
  const isLow = (text.charCodeAt(at) & 0xfc00) === 0xdc00;
  const isAfterHigh = (text.charCodeAt(at - 1) & 0xfc00) === 0xd800;
  return isLow && isAfterHigh ? at - 1 : at;
}

function joined(marks: readonly Mark[]): readonly Mark[] {
  const apartFromOthers: [number, number][] = [];
  for (const [start, end] of marks.toSorted(([a], [b]) => a - b)) {
    const last = apartFromOthers.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end);
    else apartFromOthers.push([start, end]);
  }
  return apartFromOthers;
}

/** Each is one character here and there, so that marks stay where they are. */
const NO_WORDS = /[\s\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

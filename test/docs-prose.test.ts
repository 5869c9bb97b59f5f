// What users read names who acts, and links lead somewhere; so do references in comments to docs.
// `house/rules.ts` has the width of lines.

import { existsSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { projectFiles, ROOT, readText } from "./house/files.ts";

const VAGUE = /\b(?:whoever|whatever|somebody|nobody|anybody|everybody)\b/i;

const PAGES = projectFiles()
  .filter((path) => /^(?:(?:docs|skills)\/.*|[A-Z]+)\.md$/.test(path))
  .map((path) => ({ path, page: readText(path) }));

describe.each(PAGES)("$path", ({ path, page }) => {
  it("names who acts", () => {
    expect(linesOf(page, (line) => VAGUE.test(line))).toEqual([]);
  });

  it("links only to files and headings that exist", () => {
    const links = [...page.matchAll(/\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)/g)];
    const broken = links.filter(([, file = "", anchor = ""]) => {
      const target = file === "" ? path : normalize(join(dirname(path), file));
      if (!existsSync(join(ROOT, target))) return true;
      return anchor !== "" && !anchorsOf(readText(target)).includes(anchor);
    });
    expect(broken.map(([link]) => link)).toEqual([]);
  });
});

describe("references to docs in the sources", () => {
  it("name pages and headings that exist", () => {
    const broken = projectFiles().flatMap((path) => {
      if (!/^(?:src|test|bench|scripts)\/.*\.ts$/.test(path)) return [];
      const text = readText(path).replaceAll(/\s*\n\s*(?:\*|\/\/) /g, " ");
      const references = [...text.matchAll(/docs\/(\w+\.md)(?:#([\w-]+)|,? "([A-Z][^"]*)")/g)];
      return references.flatMap(([reference, page = "", anchor, heading = ""]) => {
        const anchors = existsSync(join(ROOT, "docs", page))
          ? anchorsOf(readText(`docs/${page}`))
          : [];
        return anchors.includes(anchor ?? anchorOf(heading)) ? [] : [`${path}: ${reference}`];
      });
    });
    expect(broken).toEqual([]);
  });
});

function linesOf(page: string, isFault: (line: string) => boolean): readonly string[] {
  return page.split("\n").flatMap((line, at) => (isFault(line) ? [`${at + 1}: ${line}`] : []));
}

/** The anchor of each heading, as Markdown readers make it. */
function anchorsOf(page: string): readonly string[] {
  return [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading));
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, "")
    .replaceAll(" ", "-");
}
